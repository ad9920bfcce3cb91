package secret

// Formats of shops, payments, parcels and travel.
var paymentTokens = []tokenPattern{
	{"adobe-client-secret", "p8e-<alnum:32>", 2},
	{"duffel-api-token", "duffel_{test,live}_<eq:43>", 2},
	{"easypost-api-token", "EZAK<alnum:54>", 2},
	{"easypost-test-api-token", "EZTK<alnum:54>", 2},
	{"facebook-page-access-token", "EAA{M,C}<alnum:100-500>", 4},
	{"flutterwave-secret-key", "FLWSECK_TEST-<toH:32>-X", 2},
	{"flutterwave-encryption-key", "FLWSECK_TEST-<toH:12>", 2},
	{"flutterwave-public-key", "FLWPUBK_TEST-<toH:32>-X", 2},
	{"frameio-api-token", "fio-u-<eq:64>", 0},
	{"shippo-api-token", "shippo_{live,test}_<Hex:40>", 2},
	{"shopify-access-token", "shpat_<Hex:32>", 2},
	{"shopify-custom-access-token", "shpca_<Hex:32>", 2},
	{"shopify-private-app-access-token", "shppa_<Hex:32>", 2},
	{"shopify-shared-secret", "shpss_<Hex:32>", 2},
	{"square-access-token", "EAAA<dash:22-60>", 4.3},
	{"square-access-token", "sq0atp-<dash:22-60>", 2},
	{"square-secret", "sq0csp-<dash:43>", 3},
	{"stripe-webhook-secret", "whsec_<b64:24-128><pad>", 3},
	{"stripe-access-token", "{sk,rk}_{live,test,prod}_<alnum:10-99>", 2},
}
