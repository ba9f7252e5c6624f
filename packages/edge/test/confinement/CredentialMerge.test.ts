import type { RenewedToken } from "@corral/domain/run/RuntimeFolders"
import {
  claudeFolders,
  codexFolders,
  openCodeFolders,
  piFolders,
  qwenFolders
} from "@corral/adapters/StateFolders"
import type { RuntimeFolders } from "@corral/domain/run/RuntimeFolders"
import { assert, describe, it } from "@effect/vitest"
import { mergedCredentials } from "../../src/confinement/CredentialExchange.ts"

const NOW = Date.parse("2026-11-28T12:00:00Z")
const HOUR = 3_600_000

const tokensOf = ({ state }: RuntimeFolders, path: string): ReadonlyArray<RenewedToken> =>
  state.flatMap(({ credentials = [] }) => credentials).find((file) => file.path === path)?.tokens ?? []

/** The files of real programs, with a token and its time as parameters. */
const shapes: ReadonlyArray<
  readonly [string, ReadonlyArray<RenewedToken>, (token: string, at: number) => object]
> = [
  [
    "Claude Code",
    tokensOf(claudeFolders, ".credentials.json"),
    (token, at) => ({
      claudeAiOauth: { accessToken: token, refreshToken: `r-${token}`, expiresAt: at, scopes: ["user"] }
    })
  ],
  [
    "Claude Code, a server",
    tokensOf(claudeFolders, ".credentials.json"),
    (token, at) => ({
      claudeAiOauth: { accessToken: "a", refreshToken: "b", expiresAt: NOW, scopes: [] },
      mcpOAuth: {
        "docs|1": { serverUrl: "https://a", accessToken: token, refreshToken: token, expiresAt: at }
      }
    })
  ],
  [
    "Codex",
    tokensOf(codexFolders, "auth.json"),
    (token, at) => ({
      OPENAI_API_KEY: null,
      tokens: { id_token: token, access_token: token, refresh_token: token, account_id: "acc" },
      // The time of the renewal, a day before.
      last_refresh: new Date(at - 24 * HOUR).toISOString()
    })
  ],
  [
    "Qwen Code",
    tokensOf(qwenFolders, "oauth_creds.json"),
    (token, at) => ({ access_token: token, refresh_token: token, token_type: "Bearer", expiry_date: at })
  ],
  [
    "OpenCode",
    tokensOf(openCodeFolders, "auth.json"),
    (token, at) => ({
      anthropic: { type: "oauth", access: token, refresh: token, expires: at },
      openai: { type: "api", key: "k" }
    })
  ],
  [
    "Pi",
    tokensOf(piFolders, "auth.json"),
    (token, at) => ({ a: { type: "oauth", access: token, refresh: token, expires: at } })
  ]
]

const merged = (users: object, runs: object, tokens: ReadonlyArray<RenewedToken>): unknown =>
  JSON.parse(mergedCredentials(JSON.stringify(users), [JSON.stringify(runs)], tokens, NOW))

describe.each(shapes)("mergedCredentials for %s", (_, tokens, shape) => {
  it("takes over a newer token, and no older one", () => {
    const [old, renewed] = [shape("old", NOW + HOUR), shape("new", NOW + 2 * HOUR)]
    assert.deepStrictEqual(merged(old, renewed, tokens), renewed)
    assert.deepStrictEqual(merged(renewed, old, tokens), renewed)
  })

  it("takes over nothing that is not a renewed token", () => {
    const old = shape("old", NOW + HOUR)
    const renewed = shape("new", NOW + 2 * HOUR)
    for (const planted of [
      { evil: { type: "wellknown", key: "https://evil", token: "t", expires: NOW + 9 * HOUR } },
      { mcpServers: { evil: { command: "evil" } } },
      { __proto__: { polluted: true } }
    ])
      assert.deepStrictEqual(merged(old, { ...renewed, ...planted }, tokens), renewed)
    assert.deepStrictEqual(merged({}, renewed, tokens), {})
  })

  it("refuses an implausible time, and values that are no texts", () => {
    const old = shape("old", NOW + HOUR)
    for (const at of [NOW + 500 * 24 * HOUR, Number.MAX_SAFE_INTEGER / 2_000])
      assert.deepStrictEqual(merged(old, shape("new", at), tokens), old)
    const text = JSON.stringify(shape("new", NOW + 2 * HOUR)).replaceAll(/"(r-)?new"/g, '{"$ref":1}')
    assert.deepStrictEqual(merged(old, JSON.parse(text) as object, tokens), old)
  })
})

describe("mergedCredentials", () => {
  const [, claude] = shapes[0] ?? ["", []]

  it.each(["", "null", "[]", '"a"', "{", "1", '{"claudeAiOauth":[]}', '{"claudeAiOauth":{"expiresAt":"x"}}'])(
    "ignores a run's file with %s",
    (text) => {
      const users = JSON.stringify(shapes[0]?.[2]("old", NOW))
      assert.strictEqual(mergedCredentials(users, [text], claude, NOW), users)
      assert.strictEqual(mergedCredentials(text, [users], claude, NOW), text)
    }
  )

  it("merges the tokens of several accounts, each by its own time", () => {
    const tokens = tokensOf(openCodeFolders, "auth.json")
    const entry = (access: string, expires: number) => ({ type: "oauth", access, refresh: access, expires })
    const users = JSON.stringify({ a: entry("a1", NOW), b: entry("b1", NOW) })
    const runs = [
      JSON.stringify({ a: entry("a2", NOW + HOUR), b: entry("b1", NOW) }),
      JSON.stringify({ a: entry("a1", NOW), b: entry("b2", NOW + HOUR) })
    ]
    assert.deepStrictEqual(JSON.parse(mergedCredentials(users, runs, tokens, NOW)), {
      a: entry("a2", NOW + HOUR),
      b: entry("b2", NOW + HOUR)
    })
  })
})
