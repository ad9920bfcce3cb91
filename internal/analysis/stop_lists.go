package analysis

// ForeignStopLists returns the stop words of languages other than English, a set for each group of languages.
func ForeignStopLists() []map[string]bool { return foreignStopLists }

// foreignStopLists are the stop words of languages other than English, also without accents. They are words of
// questions and sentences of any subject. Content words of another language (the French "son") are stop words in their
// own language only.
var foreignStopLists = withUnaccented(
	wordSet(`
a al algun alguna algunas algunos ante antes aquel aquella asi aun aunque bajo bien cada casi como con contra cual
cuales cualquier cuando cuanta cuantas cuanto cuantos de del desde donde dos durante e el ella ellas ellos en entre
era eran es esa esas ese eso esos esta estaba estan estas este esto estos fue fueron ha habia han hasta hay la las
le les lo los mas me mi mientras muy no nos o otra otras otro otros para pero por porque que quien quienes se segun
ser si sido sin sobre solo son su sus tambien tan tanto te tiene tienen toda todas todo todos tras tu un una unas
uno unos y ya yo`),
	wordSet(`
a ao aos as ate com como da das de dela dele deles depois do dos durante e ela elas ele eles em entre era eram essa
essas esse esses esta estao estas este estes eu foi foram ha isso isto ja lhe mais mas me mesmo meu minha muito na
nao nas nem no nos o onde os ou para pela pelas pelo pelos por porque qual quais quando quanto quantos que quem se
sem ser seu seus sua suas sobre tambem tem um uma umas uns`),
	wordSet(`
a afin ainsi alors au aucun aussi autre autres aux avant avec avoir c ce cela ces cet cette ceux chaque chez comme
comment d dans de depuis des donc dont du elle elles en entre est et etaient etait etant ete etre eu fut furent il
ils j je l la laquelle le lequel les lesquels leur leurs lors lorsque lui m mais meme mes moi mon n ne ni nos notre
nous on ont ou par pas pendant peu plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se
selon ses si sont sous sur t ta te tes toi ton tous tout toute toutes tres tu un une vos votre vous y`),
	wordSet(`
a ad agli ai al alla alle allo anche avere aveva c che chi ci come con contro cosa cui da dagli dai dal dalla dalle
dei degli del dell della delle dello di dopo dove durante e ed era erano essere fu furono gli ha hanno i il in io l
la le lei li lo loro lui ma mentre mi molto ne negli nei nel nell nella nelle nello noi non nostro o ogni per
perche piu poi prima qual quale quali quando quanta quante quanti quanto quella quelle quelli quello questa queste
questi questo se senza si sono sotto sta stata stati stato su sua sue sugli sui sul sulla sulle suo suoi tra tu
tutte tutti un una uno`),
	wordSet(`
ab aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bevor bin bis bist
da damit dann das dass dein dem den denn der deren des dessen die dies diese diesem diesen dieser dieses doch dort
du durch ein eine einem einen einer eines er es etwa etwas fuer fur gegen gewesen hat hatte hatten hier hinter ich
ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede jedem jeden jeder jedes kann kein keine keinen
koennen konnen man mehr mein mit muss nach nicht noch nur ob oder ohne sehr sein seine seinem seinen seiner seit
sich sie sind so solche soll sowie sondern ueber uber um und uns unter viel viele vom von vor wann war waren warum
was weil welche welchem welchen welcher welches wem wen wenn wer werden wessen wie wieder wieviel wieviele wir wird
wo wobei woher wohin worden wurde wurden zu zum zur zwischen`),
	wordSet(`
aan al alle als bij daar dan dat de der deze die dit doch door dus een en er ge geen had hadden heb hebben heeft
het hier hij hoe hoeveel hun ik in is ja je kan kon maar me meer men met mij mijn na naar niet nog nu of om omdat
onder ons ook op over sinds te tegen tijdens toch toen tot tussen u uit van veel voor waar waarom wanneer waren was
wat we welk welke werd werden wie wij worden wordt zal ze zich zij zijn zo zonder`),
	wordSet(`
alla allt att av blev blir da de dem den denna deras dess dessa det detta dig din ditt du efter ej eller en er ett
fran for fore ha hade han hans har hon hur hurdan i icke in inte ja jag kan man med mellan men mig min mitt mot
mycket nagon nagot nar ni och om oss pa sa samma sedan sig sin sina sitt som till under upp ut utan vad var vara
vem vilka vilken vilket vid af aldrig alle anden at bare begge bliver denne der deres dette disse dog end et fordi
fra foer ham havde have hende her hos hun hvad hvem hvilke hvilken hvilket hvis hvor hvordan hvorfor hvornar ikke
ind jeg jer kun mange meget mellem mod naar ned noget nogle nu og ogsa op os over saa skal ud uden ved vi vil vaere
vaeret aa bli ble etter hva kom mer noe noen slik uten vaert`),
	wordSet(`
a aby ale bardzo bez bo byc byl byla bylo byly bym ci co cos czy dla do dlaczego gdy gdzie go i ich ile im innych
ja jak jaka jaki jakie jakiego jakiej jakim jako je jednak jego jej jest jestem jesli juz kazdy kiedy kim kto ktora
ktore ktorego ktorej ktorych ktory ktorym ktorzy ku lub ma maja mi mial mnie moze moj mozna na nad nam nas nawet
nic nich nie niej niego nim niz no o obok od on ona one oni oraz po pod podczas ponad poniewaz przed przez przy
roku sa sie sobie sposob swoj ta tak taki tam te tego tej ten to tu tych tylko tym u w was we wiec wiele wszystko
wtedy z za ze zeby`),
	wordSet(`
a aby ale ani asi az bez bude by byl byla byli bylo byly ci co coz da do ho i ja jak jaka jake jaky jako je jeho
jej jeji jejich jen jeste ji jinak jiny jsem jsme jsou k kam kde kdo kdy kdyz ke kolik ktera ktere kterou ktery
kteri ma mezi mi mu muze na nad nebo neni nez nic o od on ona oni pak po pod podle pokud pred pres pri pro proc
proto protoze s se si sve svou svuj ta tak take tam tato te tedy ten tento to toho tom tomu tu ty u uz v vam vas ve
vsak z za ze`),
	wordSet(`
a acea aceasta aceste acest acesta ai al ale am ar are as asa asupra at au avea avut ca cand care carei carui cat
cate cati ce cel cele cei cine cu cum da daca dar de deci decat despre din dintre dupa ea ei el ele era erau este
eu fara fi fie fost i ii il in inainte intr intre isi la le lor lui ma mai mult nici nu o ori pe pentru peste pot
prin sa sale sau se si sub sunt un una unde unei unor unui va vor`),
	wordSet(`
a abban ahol aki akik amely amelyek ami amikor az azok azt be csak de e egy egyik el ez ezek ezt fel ha hany hanyan
hogy hogyan hol ide is itt ki kik kinek le lehet lesz ma meg mely melyik mennyi mert mi miert mikor milyen mint mit
nagy nem nincs o ok olyan ott s sem szerint ugy utan van vagy vannak volt voltak`),
	wordSet(`
ei ehka eli en ettei etta han hanen he heidan hyvin ja jo jonka jos josta jota jotka joka kanssa keneen kenen ketka
kuin kuinka kuka kun kumpi me mika mikali mikao milla milloin milta minka minkalainen missa mista mita mitka mihin
miksi miten moni mukaan mutta myos ne niin nyt oli olivat olla on ovat paljonko se sen siella sille siina sita tai
tama tassa tata vai vain`),
	wordSet(`
acaba altinda ama arasinda bazi beri bir biri bu buna bunlar bunu bunun burada cok cunku da daha de defa degil diye
en fakat gibi hangi hangisi hem hep her hic icin ile ilgili ise kac kadar kez ki kim kime kimin mi mu nasil ne
neden nedir nerede nereye nicin niye o olan olarak oldu oldugu olduklari olur on onlar onun ragmen sadece sey siz
sonra su tarafindan tum uzere ve veya ya yani zaman`),
	wordSet(`
ada adalah agar akan antara apa apakah atas atau bagaimana bahwa banyak beberapa berapa bila bisa bukan dalam dan
dapat dari dengan di dia hanya harus ia ini itu jika juga kami kapan karena ke kepada kita lain lebih maka mana
masih mengapa mereka oleh pada para saat saja sampai sangat saya sebagai sebelum secara sedang sehingga sejak
sekarang selama seperti serta setelah siapa suatu sudah telah tentang terhadap tersebut tetapi tidak untuk yang`),
	wordSet(`
ai bang bao bi boi ca cac cai can chi chinh cho co con cua cung da dang dau day de den deu di do duoc gi hay hon
khi khong la lai lam len ma may moi mot nao nay neu nhieu nhu nhung noi o qua ra rang rat sau se sao su tai the thi
tren trong trinh truoc tu va van vao ve vi viec voi vua`),
	wordSet(`
а без более больше бы был была были было быть в вам вас весь во вот все всех вы где да даже для до его ее если есть
еще ж же за зачем и из или им их к каждый как какая какие каким каких какого какое какой каком какому какую ко
когда кого ком кому конечно которая которого которое которой котором которую которые который которых кто куда ли
лишь между меня мне многие много может можно мой мы на над наиболее нам нас не него нее нельзя нет ни нибудь
никогда них ничего но ну о об один одна одно он она они оно от откуда очень перед по под после потом потому почему
при про раз с сам свое своего своей своих свой себе себя сегодня сейчас сколько скольких со так такие такой там
тебя тем теперь то тогда того тоже только том тот ты у уж уже хотя чего чей чем через что чтоб чтобы чье чья эта
эти этим этих это этого этой этом этот эту я`),
	wordSet(`
а або але без би бо був була були було бути в вам вас вже ви від він вона вони воно все всі де для до з за зі і із
інший його її їй їм їх й коли кого кому котрий куди ми між мені на над нам нас не ні ніж о об один от по під після
при про саме свій себе скільки та так такий там те теж ти тільки то того тому тут у увесь хто це цей ці цього цьому
через чи чий чого чому що щоб як яка яке який яким яких якого якої якою які якій якому якщо`),
	wordSet(`
αλλα αν ανα αντι απο αυτα αυτες αυτη αυτο αυτοι αυτος αυτου αυτων για δε δεν δυο ειναι εκει εκεινος εναν ενας ενος
επι εχει εχουν η ηταν θα ισως κ και κατα κατω κι με μετα μεχρι μια μιας μεταξυ μην μονο να ο οι ολα ομως οποια
οποιο οποιος οπου οπως οσο οταν οτι ουτε παρα περι ποια ποιαν ποιες ποιο ποιοι ποιον ποιος ποιους ποιων ποσα ποσες
ποσο ποσοι ποσος ποτε που πριν προς πως σαν σας σε στα στη στην στις στο στον στους τα τη την της τι τις το τον του
τους των ως`),
	wordSet(`
إذا إلا إلى إن أن أنا أنت أو أي أين أيضا الا الان التي الذي الذين الى اما ان او اي اين بعد بعض به بها بين تلك ثم
حتى حيث خلال ذلك سوف على عليه عليها عن عند عندما غير فإن في فيه فيها قبل قد كان كانت كل كم كما كيف لا لأن لقد لكن
لم لماذا لن له لها ليس ما ماذا متى مثل مع من منذ منها منه نحو هذا هذه هل هم هناك هو هي و وقد وكان ولا ولم وما ومن
وهو وهي يكون`),
	wordSet(`
אבל אולי או אותה אותו אחר אחרי אחת אחד אין אינו איפה איך אל אלה אלו אם אני את אתה באיזה באיזו בה בו בין גם הוא היא
היה היו היכן היתה הם הן זאת זה זו יש כאשר כי כל כמה כן כפי לא לאחר לה להם לו למה לפי לפני מאוד מה מדוע מי מתי מן
נגד עד על עם רק של שלה שלהם שלו תחת`),
	wordSet(`
अपना अपनी अपने अब अभी आदि आप इन इस इसका इसकी इसके इसमें इसी इसे उन उनका उनकी उनके उस उसका उसकी उसके उसे एक एवं ऐसे
और कई कब कर करता करते करना करने करे का कि कितना कितनी कितने किया किस किसका किसने किसी किसे की कुछ के केवल को कोई
कौन कौनसा क्या क्यों गई गए गया जब जहाँ जा जाता जाती जाते जिस जिसका जिसके जिसमें जिसे जैसे जो तक तथा तो था थी थे
दिया दो द्वारा न नहीं ने पर फिर बहुत बाद भी मगर मे में यदि यह यहाँ या ये रहा रही रहे लिए लेकिन व वह वहाँ वाला वाली
वाले वे सब सबसे सभी साथ से हम ही हुआ हुई हुए है हैं हो होता होती होते होना`),
)

// withUnaccented adds to each set its words without accents.
func withUnaccented(lists ...map[string]bool) []map[string]bool {
	for _, list := range lists {
		for w := range list {
			unaccented, _, _ := Unaccent(nil, []byte(w))
			list[string(unaccented)] = true
		}
	}
	return lists
}
