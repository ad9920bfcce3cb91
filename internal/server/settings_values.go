package server

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cache"
	"github.com/loci-memory/loci/internal/embed"
	"github.com/loci-memory/loci/internal/extract/llm"
	"github.com/loci-memory/loci/internal/httpapi"
	"github.com/loci-memory/loci/internal/identity"
	"github.com/loci-memory/loci/internal/op"
	"github.com/loci-memory/loci/internal/openai"
)

// checkHostPort reports an invalid listen address.
func checkHostPort(v string) error {
	_, port, err := net.SplitHostPort(v)
	if n, bad := strconv.Atoi(port); err != nil || bad != nil || n < 0 || n > 65535 {
		return fmt.Errorf("must be host:port, such as 127.0.0.1:7007")
	}
	return nil
}

func enumSetting(set func(*Settings, string), words ...string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		if !slices.Contains(words, v) {
			return fmt.Errorf("must be one of %s", strings.Join(words, ", "))
		}
		set(s, v)
		return nil
	}
}

func intSetting(set func(*Settings, int)) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n > 1_000_000_000 {
			return fmt.Errorf("must be a whole number from 0 to 1000000000")
		}
		set(s, n)
		return nil
	}
}

func setToolset(s *Settings, v string) (err error) {
	s.Toolset, err = op.ParseToolset(v)
	return err
}

func setQueryKey(s *Settings, v string) error {
	on, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("must be 0 or 1")
	}
	s.QueryKey = on
	return nil
}

func setPlan(s *Settings, v string) error {
	name := loci.PlanName(v)
	if _, ok := identity.DefaultPlans[name]; !ok {
		return fmt.Errorf("must be one of selfhosted, free, pro")
	}
	s.Plans.Default = name
	return nil
}

func setClockOffset(s *Settings, v string) (err error) {
	if s.ClockOffset, err = time.ParseDuration(v); err != nil {
		return fmt.Errorf("must be a duration, such as 25h")
	}
	return nil
}

// durationSetting sets a duration within bounds, which the error describes.
func durationSetting(of func(*Settings) *time.Duration, least, most time.Duration,
	bounds string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < least || d > most {
			return fmt.Errorf("must be a duration from %s", bounds)
		}
		*of(s) = d
		return nil
	}
}

// defaultDrain is the drain of a server whose standard streams are no terminal.
const defaultDrain = 2 * time.Second

func setEmbedURL(s *Settings, v string) error {
	_, err := embed.Endpoint(v)
	s.EmbedURL = v
	return err
}

func setEmbedKey(s *Settings, v string) error {
	s.EmbedKey = v
	return openai.CheckKey(v)
}

// modelSetting sets the name of a model.
func modelSetting(set func(*Settings, string)) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		if len(v) > 200 || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("must be the name of a model, such as text-embedding-3-small")
		}
		set(s, v)
		return nil
	}
}

func setLLMURL(s *Settings, v string) error {
	_, err := llm.Endpoint(v)
	s.LLMURL = v
	return err
}

func setLLMKey(s *Settings, v string) error {
	s.LLMKey = v
	return openai.CheckKey(v)
}

func setLLMDailyTokens(s *Settings, v string) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 1 || n > loci.Unlimited {
		return fmt.Errorf("must be a whole number from 1 to %d: leave LOCI_LLM_URL out to use no tokens",
			int64(loci.Unlimited))
	}
	s.LLMDailyTokens = n
	return nil
}

// isPort reports whether a port of an address is absent, or one that a browser can open.
func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// parseOrigin returns an origin as browsers send it. They send a name of other letters in ASCII, which is for the
// operator to write.
func parseOrigin(v string) (string, error) {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.HasSuffix(u.Host, ":") ||
		strings.ContainsFunc(u.Host, func(r rune) bool { return r > '~' }) ||
		!strings.EqualFold(u.Scheme+"://"+u.Host, v) || !isPort(u.Port()) {
		return "", fmt.Errorf("must be an origin in ASCII, like https://loci.example.org or " +
			"https://xn--bcher-kva.example")
	}
	return httpapi.OriginOf(u), nil
}

func setPublicURL(s *Settings, v string) (err error) {
	s.PublicURL, err = parseOrigin(strings.TrimRight(v, "/"))
	return err
}

func setOrigins(s *Settings, v string) error {
	for _, o := range splitList(v) {
		origin, err := parseOrigin(o)
		if err != nil {
			return err
		}
		s.Origins = append(s.Origins, origin)
	}
	return nil
}

func setProxies(s *Settings, v string) error {
	for _, p := range splitList(v) {
		prefix, err := netip.ParsePrefix(p)
		if err != nil {
			ip, bad := netip.ParseAddr(p)
			if bad != nil {
				return fmt.Errorf("must be networks like 10.0.0.0/8")
			}
			prefix = netip.PrefixFrom(ip, ip.BitLen())
		}
		s.TrustedProxies = append(s.TrustedProxies, prefix)
	}
	return nil
}

func splitList(v string) (items []string) {
	for item := range strings.SplitSeq(v, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// minCacheBytes is the least budget of caches: below it, searches read the same pages again and again.
const minCacheBytes = 1 << 20

func setCacheBytes(s *Settings, v string) (err error) {
	if s.CacheBytes, err = strconv.Atoi(v); err != nil || s.CacheBytes < minCacheBytes {
		return fmt.Errorf("must be a number of bytes from %d on, such as %d", minCacheBytes, cache.DefaultBytes)
	}
	return nil
}
