/** Documents and examples use placeholder hosts and tokens only, as the contract demands. A real host or a secret in one fails here. */
import { assert, describe, it } from "@effect/vitest"
import { REDACTED, Redaction } from "@corral/redaction/Redaction"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const texts = globSync(
  [
    "*.md",
    "docs/**/*.md",
    "docs/**/*.json",
    "examples/**/*.{md,ts,tsx,json,html}",
    "deploy/**/*.{md,yaml,yml,json,service,conf}",
    "packages/*/README.md",
    "openapi/*.json",
    "asyncapi/*.json"
  ],
  { cwd: root, exclude: ["**/node_modules/**"] }
).map((path) => [path, readFileSync(join(root, path), "utf8")] as const)

/** Sites of specifications, licences, chat platforms and programs that a reader needs by their real name. */
const neededHosts: ReadonlySet<string> = new Set([
  "agentclientprotocol.com",
  "api.slack.com",
  "codecompanion.olimorris.dev",
  "fast-check.dev",
  "github.com",
  "keepachangelog.com",
  "login.microsoftonline.com",
  "open.feishu.cn",
  "open.larksuite.com",
  "patroni.readthedocs.io",
  "semver.org",
  "slack.com",
  "www.apache.org",
  "www.npmjs.com"
])

/** This machine, names and addresses that are reserved for documentation, names within one network, and names to fill in. */
const isPlaceholder = (host: string): boolean =>
  /^(?:localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|192\.0\.2\.\d+|198\.51\.100\.\d+|203\.0\.113\.\d+|[a-z-]+)$/.test(
    host
  ) ||
  /(?:^|\.)(?:example|test|invalid|localhost|example\.(?:com|net|org))$/.test(host) ||
  /[${}<…*]/.test(host)

const hostsIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/\b(?:https?|wss?):\/\/(?:[^\s/@"'`]*@)?(\[[0-9a-f:]+\]|[^\s/:"'`),;|\\?#>]+)/gi)].map(
    ([, host = ""]) => host.toLowerCase().replace(/\.$/, "")
  )

const realHosts = (text: string): ReadonlyArray<string> =>
  hostsIn(text).filter((host) => !isPlaceholder(host) && !neededHosts.has(host))

const redaction = new Redaction()

/** What was taken out of a line. */
const takenOut = (line: string, redacted: string): ReadonlyArray<string> => {
  let at = 0
  return redacted.split(REDACTED).flatMap((part, i, parts) => {
    const found = i === parts.length - 1 ? line.length - part.length : line.indexOf(part, at)
    const taken = line.slice(at, found)
    at = found + part.length
    return i === 0 ? [] : [taken]
  })
}

/** A word is a placeholder. A secret is long and mixes letters and digits. */
const isSecret = (value: string): boolean => value.length >= 16 && /\d/.test(value) && /[a-z]/i.test(value)

/** Secrets of a text, each with the number of its line. */
const secretsIn = (text: string): ReadonlyArray<string> =>
  redaction.text(text) === text
    ? []
    : text.split("\n").flatMap((line, i) =>
        takenOut(line, redaction.text(line))
          .filter(isSecret)
          .map((value) => `${i + 1}: ${value}`)
      )

describe("documents and examples", () => {
  it("name placeholder hosts, and services that readers need", () => {
    assert.isAbove(texts.length, 150)
    const found = texts.flatMap(([path, text]) => realHosts(text).map((host) => `${path}: ${host}`))
    assert.deepStrictEqual(found, [])
  })

  it("contain no secret", () => {
    const secrets = texts.flatMap(([path, text]) => secretsIn(text).map((found) => `${path}:${found}`))
    assert.deepStrictEqual(secrets, [])
  })

  it.each([
    ["https://hub.acme.io/client/sessions", ["hub.acme.io"]],
    ["wss://10.1.2.3:7400/v1/events", ["10.1.2.3"]],
    ["http://admin:pw@intranet.acme.io", ["intranet.acme.io"]],
    ["https://example.com.evil.io", ["example.com.evil.io"]],
    ["https://hub.example.com http://127.0.0.1:7400 http://[::1]:1 https://<your host>/x", []]
  ] as const)("are judged by their host: %s", (text, hosts) => {
    assert.deepStrictEqual(realHosts(text), [...hosts])
  })

  it("are judged by their secrets", () => {
    const key = ["sk", "ant", "api03", "Zq3vT8wLr2mNx6Kd9PfYb4Hs7Gc1Je5Q".repeat(3)].join("-")
    assert.deepStrictEqual(secretsIn(`fine\nexport ANTHROPIC_API_KEY=${key}\nPASSWORD=hunter2\n`), [
      `2: ${key}`
    ])
  })
})
