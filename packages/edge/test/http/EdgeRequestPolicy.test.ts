import { assert, describe, it } from "@effect/vitest"
import {
  checkRequest,
  headOfMessage,
  loopbackHosts,
  MAX_REQUEST_BYTES
} from "@corral/service/http/RequestGuard"
import { IncomingMessage } from "node:http"
import { Socket } from "node:net"
import { carriesEdgeToken, edgeRequestPolicy } from "../../src/http/EdgeRequestPolicy.ts"

const port = 4242
const token = "corral_e_a-good-token"
const editorToken = "corral_ahp_a-good-token"
const desktop = "app://corral"
const policy = edgeRequestPolicy({
  hosts: loopbackHosts(port),
  allowedOrigins: [desktop],
  matchesToken: (candidate) => candidate === token,
  matchesEditor: (candidate) => candidate === token || candidate === editorToken
})

interface Sent {
  readonly method?: string
  readonly target?: string
  readonly upgrade?: boolean
  /** As sent: a name may come twice. */
  readonly headers?: ReadonlyArray<readonly [name: string, value: string]>
  /** `false`: none is added. */
  readonly host?: false
  readonly token?: false
}

/** A good request but for what is said, with headers as Node's parser gives them: the first of a repeated one. */
const requestOf = ({ method = "GET", target = "/v1/runs", upgrade = false, headers = [], ...left }: Sent) => {
  const sent = [
    ...(left.host === false ? [] : [["Host", `127.0.0.1:${port}`] as const]),
    ...(left.token === false ? [] : [["Authorization", `Bearer ${token}`] as const]),
    ...headers
  ]
  const request = new IncomingMessage(new Socket())
  request.method = method
  request.url = target
  request.rawHeaders = sent.flat()
  for (const [name, value] of sent) request.headers[name.toLowerCase()] ??= value
  return headOfMessage(request, upgrade)
}

const verdict = (sent: Sent): string => {
  const head = requestOf(sent)
  return checkRequest(head, policy)?.code ?? (carriesEdgeToken(head) ? "token" : "open")
}

/** Each as a request, and as an upgrade of the stream, of another path and of one that is not there. */
const everywhere = (sent: Sent): ReadonlyArray<string> =>
  [
    sent,
    { method: "POST", ...sent },
    { method: "OPTIONS", ...sent },
    { ...sent, upgrade: true, target: "/v1/events" },
    { ...sent, upgrade: true, target: `/v1/events?token=${token}` },
    { ...sent, upgrade: true, target: "/v1/runs" },
    { ...sent, upgrade: true, target: "/nowhere" },
    { ...sent, target: "/health" }
  ].map(verdict)

const all = (code: string) => Array.from({ length: 8 }, () => code)

describe("edgeRequestPolicy, Host", () => {
  it.each([`127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`])("knows itself as %s", (host) => {
    assert.strictEqual(verdict({ host: false, headers: [["Host", host]] }), "token")
  })

  it.each([
    // DNS rebinding: CVE-2025-66414, -66416, CVE-2026-63118, CVE-2025-59956, CVE-2024-28224.
    `evil.example:${port}`,
    "evil.example",
    `127.0.0.1.evil.example:${port}`,
    `localhost.evil.example:${port}`,
    `localhost.:${port}`,
    `127.0.0.1.:${port}`,
    "127.0.0.1",
    "localhost",
    `127.0.0.1:${port + 1}`,
    `127.0.0.1:${port}0`,
    `127.0.0.1:0${port}`,
    // Other names of loopback: CVE-2025-49596.
    `0.0.0.0:${port}`,
    `0:${port}`,
    `127.1:${port}`,
    `127.0.0.2:${port}`,
    `2130706433:${port}`,
    `0x7f000001:${port}`,
    `[::]:${port}`,
    `[::ffff:127.0.0.1]:${port}`,
    `::1:${port}`,
    `[0:0:0:0:0:0:0:1]:${port}`,
    `user@127.0.0.1:${port}`,
    `127.0.0.1:${port}@evil.example`,
    `127.0.0.1:${port}, evil.example`,
    `127.0.0.1:${port}/`,
    ""
  ])("refuses the Host %j, also with a valid token", (host) => {
    assert.deepStrictEqual(everywhere({ host: false, headers: [["Host", host]] }), all("permission_denied"))
  })

  it("refuses a request without a Host", () => {
    assert.deepStrictEqual(everywhere({ host: false }), all("permission_denied"))
  })

  it("refuses two Hosts, whichever comes first and however they are written", () => {
    for (const second of [`127.0.0.1:${port}`, `evil.example:${port}`]) {
      assert.deepStrictEqual(everywhere({ headers: [["Host", second]] }), all("permission_denied"))
      assert.deepStrictEqual(everywhere({ headers: [["hOST", second]] }), all("permission_denied"))
    }
  })

  it.each([
    `http://evil.example/v1/runs`,
    `http://127.0.0.1:${port}/v1/runs`,
    `https://evil.example/health`,
    "evil.example:443",
    "*",
    ""
  ])("refuses the target %j", (target) => {
    for (const method of ["GET", "POST", "CONNECT", "OPTIONS"]) {
      assert.strictEqual(verdict({ method, target }), "permission_denied")
      assert.strictEqual(verdict({ method, target, upgrade: true }), "permission_denied")
    }
  })

  it("trusts no forwarded address: CVE-2026-29613", () => {
    const forwarded = [
      ["X-Forwarded-For", "127.0.0.1"],
      ["X-Forwarded-Host", `127.0.0.1:${port}`],
      ["Forwarded", "for=127.0.0.1"],
      ["X-Real-IP", "127.0.0.1"]
    ] as const
    assert.strictEqual(verdict({ token: false, headers: forwarded }), "unauthorized")
    const rebound = [["Host", `evil.example:${port}`], ...forwarded] as const
    assert.strictEqual(verdict({ host: false, headers: rebound }), "permission_denied")
  })
})

describe("edgeRequestPolicy, Origin", () => {
  it.each([
    // CVE-2025-52882, CVE-2026-44211, CVE-2023-26114, CVE-2025-24010, -48068.
    "https://evil.example",
    "null",
    "",
    "file://",
    // CVE-2026-111922: another port of this machine is another origin, and so are we ourselves.
    "http://localhost:1",
    `http://127.0.0.1:${port}`,
    `http://localhost:${port}`,
    "app://corral.evil.example",
    "app://corral/",
    "APP://corral",
    "https://app://corral"
  ])("refuses the Origin %j, with and without a token", (origin) => {
    const headers = [["Origin", origin]] as const
    assert.deepStrictEqual(everywhere({ headers }), all("permission_denied"))
    assert.deepStrictEqual(everywhere({ headers, token: false }), all("permission_denied"))
  })

  it("takes the desktop shell's own, and still wants the token", () => {
    const headers = [["Origin", desktop]] as const
    assert.strictEqual(verdict({ headers }), "token")
    assert.strictEqual(verdict({ headers, token: false }), "unauthorized")
    assert.strictEqual(verdict({ headers: [...headers, ["Sec-Fetch-Site", "cross-site"]] }), "token")
  })

  it("lets a browser ask what the desktop shell's page may send, and no other", () => {
    const asks = (origin: string, target = "/v1/runs", method = "OPTIONS") =>
      verdict({
        method,
        target,
        token: false,
        headers: [
          ["Origin", origin],
          ["Access-Control-Request-Method", "POST"],
          ["Sec-Fetch-Site", "cross-site"]
        ]
      })
    assert.strictEqual(asks(desktop), "open")
    for (const origin of ["https://evil.example", "null", "", `${desktop}.evil.example`, `${desktop}:1`])
      assert.strictEqual(asks(origin), "permission_denied", origin)
    // What is not a preflight wants the token.
    for (const method of ["GET", "POST", "HEAD"])
      assert.strictEqual(asks(desktop, "/v1/runs", method), "unauthorized", method)
    const rebound = [
      ["Host", `evil.example:${port}`],
      ["Origin", desktop],
      ["Access-Control-Request-Method", "POST"]
    ] as const
    assert.strictEqual(
      verdict({ method: "OPTIONS", host: false, token: false, headers: rebound }),
      "permission_denied"
    )
  })

  it("refuses what a browser says comes from another site", () => {
    for (const site of ["cross-site", "same-site", "nonsense"]) {
      const headers = [["Sec-Fetch-Site", site]] as const
      assert.deepStrictEqual(everywhere({ headers }), all("permission_denied"))
    }
    for (const site of ["none", "same-origin"]) {
      assert.strictEqual(verdict({ headers: [["Sec-Fetch-Site", site]] }), "token")
    }
  })
})

describe("edgeRequestPolicy, token", () => {
  it.each([
    "/v1/runs",
    "/v1/agents",
    "/v1/workspaces",
    "/v1/events",
    "/",
    "/nowhere",
    "/v1/permissions/decide"
  ])("wants it on %s: CVE-2026-22812", (target) => {
    for (const method of ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      for (const upgrade of [false, true]) {
        assert.strictEqual(verdict({ method, target, upgrade, token: false }), "unauthorized")
      }
    }
  })

  it.each([
    // CVE-2026-28472: present is not valid.
    "Bearer x",
    `Bearer ${token}x`,
    `Bearer ${token.toUpperCase()}`,
    `Bearer ${token} ${token}`,
    "Bearer",
    "Bearer ",
    "",
    token,
    `Basic ${token}`,
    `Token ${token}`,
    `XBearer ${token}`
  ])("refuses Authorization %j", (authorization) => {
    const headers = [["Authorization", authorization]] as const
    assert.deepStrictEqual(everywhere({ token: false, headers }), all("unauthorized"))
  })

  it("accepts `Bearer` in any case", () => {
    for (const authorization of [`bearer ${token}`, `BEARER  ${token}`, `Bearer ${token} `]) {
      assert.strictEqual(verdict({ token: false, headers: [["Authorization", authorization]] }), "token")
    }
  })

  it("takes it from the query on the stream's upgrade alone", () => {
    const withToken = (target: string, upgrade: boolean) => verdict({ target, upgrade, token: false })
    assert.strictEqual(withToken(`/v1/events?token=${token}`, true), "token")
    assert.strictEqual(withToken(`/v1/events?runId=run_1&token=${encodeURIComponent(token)}`, true), "token")
    assert.strictEqual(withToken(`/v1/events?token=${token}`, false), "unauthorized")
    for (const path of [
      "/v1/runs",
      "/v1/events/",
      "/v1//events",
      "//v1/events",
      "/v1/event",
      "/V1/events",
      "/"
    ]) {
      assert.strictEqual(withToken(`${path}?token=${token}`, true), "unauthorized", path)
      assert.strictEqual(withToken(`${path}?token=${token}`, false), "unauthorized", path)
    }
  })

  it("refuses a query that holds no good token", () => {
    for (const query of [
      "",
      "?token=",
      "?token=x",
      `?token=${token}x`,
      `?Token=${token}`,
      `#token=${token}`
    ]) {
      assert.strictEqual(
        verdict({ target: `/v1/events${query}`, upgrade: true, token: false }),
        "unauthorized"
      )
    }
  })

  it.each(["/ahp", "/ahp/api", "/ahp/api/more"])(
    "takes it as `tkn` on the upgrade of the agent host: %s",
    (path) => {
      const upgrade = (target: string) => verdict({ target, upgrade: true, token: false })
      for (const tkn of [token, editorToken]) assert.strictEqual(upgrade(`${path}?tkn=${tkn}`), "token")
      const authorization = [["Authorization", `Bearer ${editorToken}`]] as const
      assert.strictEqual(
        verdict({ target: path, upgrade: true, token: false, headers: authorization }),
        "token"
      )
      for (const query of ["", "?tkn=", "?tkn=x", `?tkn=${token}x`, `?token=${token}`])
        assert.strictEqual(upgrade(path + query), "permission_denied", query)
      const wrong = [["Authorization", "Bearer x"]] as const
      assert.strictEqual(
        verdict({ target: `${path}?tkn=${token}`, upgrade: true, token: false, headers: wrong }),
        "permission_denied"
      )
      for (const origin of ["https://evil.example", "null", `http://127.0.0.1:${port}`])
        assert.strictEqual(
          verdict({ target: `${path}?tkn=${token}`, upgrade: true, headers: [["Origin", origin]] }),
          "permission_denied"
        )
      // What is not an upgrade is an unknown route.
      assert.strictEqual(verdict({ target: `${path}?tkn=${token}`, token: false }), "unauthorized")
    }
  )

  it("takes the upgrade of an editor that uses no path, and the token of editors nowhere else", () => {
    const upgrade = (target: string) => verdict({ target, upgrade: true, token: false })
    assert.strictEqual(upgrade(`/?tkn=${editorToken}`), "token")
    assert.strictEqual(upgrade("/?tkn=x"), "permission_denied")
    assert.strictEqual(upgrade("/"), "unauthorized")
    const headers = [["Authorization", `Bearer ${editorToken}`]] as const
    assert.deepStrictEqual(everywhere({ token: false, headers }), all("unauthorized"))
    for (const path of ["/v1/events", "/v1/runs", "/ahpx", "/AHP", "//ahp"])
      assert.strictEqual(upgrade(`${path}?tkn=${token}`), "unauthorized", path)
  })

  it("does not fall back to the query when a header was sent", () => {
    const headers = [["Authorization", "Bearer x"]] as const
    const target = `/v1/events?token=${token}`
    assert.strictEqual(verdict({ target, upgrade: true, token: false, headers }), "unauthorized")
  })

  it("leaves health open to GET, and says whether a token came", () => {
    for (const target of ["/health", "/v1/health", "/health?x=1"]) {
      assert.strictEqual(verdict({ target, token: false }), "open")
      assert.strictEqual(verdict({ target }), "token")
      assert.strictEqual(verdict({ target, token: false, method: "POST" }), "unauthorized")
      const wrong = [["Authorization", "Bearer x"]] as const
      assert.strictEqual(verdict({ target, token: false, headers: wrong }), "unauthorized")
    }
    for (const target of ["/health/", "/healthz", "/v1/health/x", "/Health", "//health"]) {
      assert.strictEqual(verdict({ target, token: false }), "unauthorized", target)
    }
  })
})

describe("edgeRequestPolicy, body", () => {
  const post = (headers: Sent["headers"] = [], more: Sent = {}) =>
    verdict({ method: "POST", headers, ...more })
  const length = (bytes: number) => ["Content-Length", String(bytes)] as const
  const type = (value: string) => ["Content-Type", value] as const

  it.each([
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON",
    "application/json ;x=y"
  ])("takes %j", (value) => {
    assert.strictEqual(post([length(2), type(value)]), "token")
    assert.strictEqual(post([["Transfer-Encoding", "chunked"], type(value)]), "token")
  })

  it.each([
    // What a page may send without a preflight: CVE-2026-46409.
    "text/plain",
    "text/plain; x=application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "application/jsonp",
    "application/json-patch+json",
    "application/json, text/plain",
    "x application/json",
    ""
  ])("refuses a body of type %j", (value) => {
    assert.strictEqual(post([length(2), type(value)]), "unsupported_media_type")
    assert.strictEqual(post([["Transfer-Encoding", "chunked"], type(value)]), "unsupported_media_type")
    assert.strictEqual(
      verdict({ method: "DELETE", headers: [length(2), type(value)] }),
      "unsupported_media_type"
    )
  })

  it("refuses a body without a type, and asks no type where there is no body", () => {
    assert.strictEqual(post([length(2)]), "unsupported_media_type")
    assert.strictEqual(post([["Transfer-Encoding", "chunked"]]), "unsupported_media_type")
    assert.strictEqual(post([length(0)]), "token")
    assert.strictEqual(post(), "token")
  })

  it("refuses a body over the limit before it is read", () => {
    assert.strictEqual(post([length(MAX_REQUEST_BYTES), type("application/json")]), "token")
    assert.strictEqual(post([length(MAX_REQUEST_BYTES + 1), type("application/json")]), "payload_too_large")
  })

  it("does not describe a wrong body to a caller without a token", () => {
    for (const headers of [[length(2)], [length(MAX_REQUEST_BYTES + 1)]]) {
      assert.strictEqual(post(headers, { token: false }), "unauthorized")
    }
  })
})
