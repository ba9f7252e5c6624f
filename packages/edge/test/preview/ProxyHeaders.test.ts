import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import {
  UpstreamCookies,
  redirectTarget,
  toBrowserHeaders,
  toUpstreamHeaders
} from "../../src/preview/ProxyHeaders.ts"
import { protectionHeaders } from "../../src/preview/PreviewUpstream.ts"

describe("toUpstream", () => {
  it("passes what the request says, and nothing of the connection, the person or the preview", () => {
    const cookies = new UpstreamCookies()
    cookies.narrow(["sid=1"])
    const sent = toUpstreamHeaders(
      {
        host: "127.0.0.1:5000",
        origin: "http://127.0.0.1:5000",
        referer: "http://127.0.0.1:5000/?ticket=x",
        cookie: "corral_prv_0=secret; sid=1; hub=secret; csrf=2",
        connection: "keep-alive, X-Hop, content-length",
        "x-hop": "1",
        "keep-alive": "5",
        te: "trailers",
        upgrade: "h2c",
        expect: "100-continue",
        forwarded: "for=1",
        "x-forwarded-host": "evil",
        "proxy-authorization": "x",
        "content-length": "3",
        accept: "*/*",
        "x-csrf": "2"
      },
      3000,
      cookies
    )
    assert.deepStrictEqual(sent, {
      host: "localhost:3000",
      origin: "http://localhost:3000",
      cookie: "sid=1",
      "content-length": "3",
      accept: "*/*",
      "x-csrf": "2"
    })
  })

  it("frames a body of unknown length by itself, for any method", () => {
    const sent = toUpstreamHeaders({ "transfer-encoding": "gzip, chunked" }, 3000, new UpstreamCookies())
    assert.deepStrictEqual(sent, { host: "localhost:3000", "transfer-encoding": "chunked" })
  })
})

describe("toBrowser", () => {
  it("replaces what protects, and drops what would lead away or reach other ports", () => {
    const ownHeaders = protectionHeaders(5000, "port")
    const answered = toBrowserHeaders(
      {
        "content-type": "text/html",
        "content-length": "3",
        etag: '"x"',
        ...Object.fromEntries(Object.keys(ownHeaders).map((name) => [name, "the upstream's"])),
        "access-control-allow-origin": "*",
        "clear-site-data": '"cookies"',
        refresh: "0; url=http://evil.example",
        "strict-transport-security": "max-age=1",
        location: "http://evil.example",
        connection: "close, x-hop, content-length",
        "x-hop": "1",
        "transfer-encoding": "chunked",
        "set-cookie": ["corral_prv_0=x", "a=1; Domain=localhost"]
      },
      ownHeaders,
      new UpstreamCookies()
    )
    assert.deepStrictEqual(answered, {
      "content-type": "text/html",
      "content-length": "3",
      etag: '"x"',
      "set-cookie": ["a=1; SameSite=Strict"]
    })
  })
})

describe("A header of an upstream", () => {
  /** The names in the registry of HTTP fields on which browsers act, and their spellings to come. */
  const acted = fc.oneof(
    fc.constantFrom(
      "link",
      "refresh",
      "sourcemap",
      "speculation-rules",
      "content-security-policy-report-only",
      "nel",
      "report-to",
      "reporting-endpoints",
      "critical-ch",
      "accept-ch",
      "alt-svc",
      "clear-site-data",
      "supports-loading-mode",
      "timing-allow-origin",
      "use-as-dictionary",
      "x-dns-prefetch-control",
      "x-xss-protection",
      "x-sourcemap",
      "x-frame-options",
      "x-ua-compatible",
      "x-permitted-cross-domain-policies",
      "x-content-security-policy",
      "service-worker-allowed",
      "www-authenticate",
      "authentication-info",
      "proxy-authenticate",
      "attribution-reporting-register-source",
      "location"
    ),
    // None that is known to describe an answer.
    fc.stringMatching(/^z[a-z]{2,12}(-[a-z]{2,12}){0,2}$/)
  )

  it("reaches a browser only where it describes the answer", () => {
    fc.assert(
      fc.property(fc.uniqueArray(acted, { minLength: 1 }), fc.webUrl(), (names, url) => {
        const ownHeaders = protectionHeaders(5000, "port")
        const sent = {
          "content-type": "text/html",
          ...Object.fromEntries(names.map((name) => [name, `<${url}>`]))
        }
        assert.deepStrictEqual(toBrowserHeaders(sent, ownHeaders, new UpstreamCookies()), {
          "content-type": "text/html"
        })
      })
    )
  })

  it("reaches a browser where an application invented it", () => {
    const sent = { "x-total-count": "3", "hx-trigger": "saved" }
    assert.deepStrictEqual(
      toBrowserHeaders(sent, protectionHeaders(5000, "port"), new UpstreamCookies()),
      sent
    )
  })
})

describe("UpstreamCookies", () => {
  it("narrows what an upstream sets, and refuses what looks like a preview's own", () => {
    const cookies = new UpstreamCookies()
    const narrowed = cookies.narrow([
      "a=1; Path=/x; Domain=127.0.0.1; HttpOnly; Secure; SameSite=None; Max-Age=5; Partitioned",
      "b=x=y; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
      "corral_prv_0123=x",
      "Corral_Prv_0=x",
      "=corral_prv_0=x",
      "corral_prv_0",
      "bad name=x",
      ""
    ])
    assert.deepStrictEqual(narrowed, [
      "a=1; Path=/x; HttpOnly; Max-Age=5; SameSite=Strict",
      "b=x=y; Expires=Thu, 01 Jan 1970 00:00:00 GMT; SameSite=Strict"
    ])
    assert.strictEqual(cookies.select("other=1; a=1;b=2; corral_prv_0123=x"), "a=1; b=2")
    assert.isUndefined(cookies.select("other=1"))
    assert.isUndefined(cookies.select(undefined))
  })

  it("remembers a hundred names at most", () => {
    const cookies = new UpstreamCookies()
    for (let n = 0; n < 100; n++) assert.lengthOf(cookies.narrow([`n${n}=1`]), 1)
    assert.lengthOf(cookies.narrow(["one-more=1"]), 0)
    assert.lengthOf(cookies.narrow(["n7=2"]), 1)
  })
})

describe("redirectTarget", () => {
  const from = { path: "/a/b?c", port: 5000, upstreamPort: 3000 }
  const origin = "http://127.0.0.1:5000"

  it("keeps redirects within the upstream on the preview's own origin", () => {
    const cases: ReadonlyArray<readonly [location: string, target: string]> = [
      ["/x", `${origin}/x`],
      ["x?y#z", `${origin}/a/x?y#z`],
      ["http://localhost:3000/x", `${origin}/x`],
      ["http://127.0.0.1:3000/x", `${origin}/x`],
      ["http://[::1]:3000/x", `${origin}/x`],
      ["http://localhost:3000//evil.example/", `${origin}//evil.example/`]
    ]
    for (const [location, target] of cases)
      assert.strictEqual(redirectTarget(location, from), target, location)
  })

  it("follows none that leads away", () => {
    const locations = [
      "http://evil.example/",
      "//evil.example/",
      "/\\evil.example/",
      "\\\\evil.example",
      "https://localhost:3000/",
      "http://localhost:3001/",
      "http://localhost/",
      "http://localhost.evil.example:3000/",
      "http://a:b@localhost:3000/",
      "javascript:alert(1)",
      "http://[",
      "file:///etc/passwd"
    ]
    for (const location of locations) assert.isUndefined(redirectTarget(location, from), location)
  })
})
