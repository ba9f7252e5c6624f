/** What pages say in passing is so: the endpoints, the codes with their statuses, and the names of events. */
import { assert, describe, it } from "@effect/vitest"
import { auditActionNames } from "@corral/domain/access/AuditAction"
import { authorityMatrix } from "@corral/domain/access/Authorization"
import { errorTable } from "@corral/domain/errors/ErrorTable"
import { integrationTypes } from "@corral/domain/chat/Integration"
import { eventTypes } from "@corral/domain/run/RunEvent"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const pages = ["README.md", "README.zh.md", "CHANGELOG.md", "CONTRIBUTING.md", "AGENTS.md"]
  .concat(
    readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
      // The founding documents speak of what is planned, too.
      .filter((name) => name.endsWith(".md") && !/^contract\/DECISIONS-[23]/.test(name))
      .map((name) => `docs/${name}`)
  )
  .map((page) => [page, readFileSync(join(root, page), "utf8")] as const)

interface OpenApi {
  readonly paths: Readonly<Record<string, object>>
}

/** Every endpoint of every service, such as `GET /v1/runs/{}`. */
const endpoints = new Set(
  ["edge", "hub", "gateway"].flatMap((service) => {
    const { paths }: OpenApi = JSON.parse(readFileSync(join(root, `openapi/${service}.json`), "utf8"))
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, "{}")}`)
    )
  })
)

/** A path as a page writes it: ids as `{id}`, `:id` or `run_…`, perhaps with a query. */
const templateOf = (path: string): string =>
  path.replace(/\?.*$/, "").replaceAll(/(?<=\/)(\{\w+\}|:\w+|[a-z]{3}_…)/g, "{}")

/** Where each of these is said: the page and the words. */
const occurrences = (pattern: RegExp) =>
  pages.flatMap(([page, text]) => [...text.matchAll(pattern)].map((found) => ({ page, found })))

/** WebSockets, and what a collector of telemetry serves: no endpoints of OpenAPI. */
const streams = ["/v1/events", "/client/events", "/client/ahp", "/v1/traces", "/v1/metrics", "/v1/logs"]

describe("pages", () => {
  it("have no conflict markers and no heading directly after another line", () => {
    const damaged = pages.flatMap(([page, text]) =>
      [
        ...text
          .replaceAll(/^```[^]*?^```$/gm, "")
          .matchAll(/^(?:<{7} .*|>{7} .*|={7}|(?<=[^\n]\n)#{2,} .*)$/gm)
      ].map(([line]) => `${page}: ${line}`)
    )
    assert.deepStrictEqual(damaged, [])
  })

  it("name source files that there are", () => {
    const named = occurrences(/`((?:packages|scripts|bench|examples|deploy)\/[\w./-]+\.\w+)`/g)
    const tests = occurrences(
      /`((?:adapters|cli|console|domain|edge|gateway|hub|service)\/test\/[\w./-]+\.ts)`/g
    )
    assert.isAbove(named.length + tests.length, 200)
    const missing = [
      ...named,
      ...tests.map(({ found, page }) => ({ found: ["", `packages/${found[1]}`], page }))
    ]
      .map(({ found, page }) => ({ path: found[1] ?? "", page }))
      // The guide on adapters creates this file; the table of answers is about files of any project.
      .filter(({ path }) => path !== "packages/adapters/src/Weaver.ts" && !existsSync(join(root, path)))
      .filter(({ page }) => page !== "docs/auto-edit.md")
    assert.deepStrictEqual(missing, [])
  })

  it("name endpoints that there are", () => {
    const named = occurrences(
      /\b(GET|POST|PUT|PATCH|DELETE)\s+`?(\/(?:v1|client|web|integrations)\/[^\s`|)"',;]*[^\s`|)"',;.])/g
    )
    assert.isAbove(named.length, 200)
    const missing = named
      .map(({ found: [, method, path = ""], page }) => ({ page, endpoint: `${method} ${templateOf(path)}` }))
      .filter(({ endpoint }) => !endpoints.has(endpoint))
    assert.deepStrictEqual(missing, [])

    const paths = new Set([...endpoints].map((endpoint) => endpoint.replace(/^\w+ /, "")))
    const alone = occurrences(/`(\/(?:v1|client|web|integrations)\/[^`\s]+)`/g)
      .map(({ found: [, path = ""], page }) => ({ page, path: templateOf(path) }))
      .filter(({ path }) => !streams.includes(path))
    assert.isAbove(alone.length, 15)
    assert.deepStrictEqual(
      alone.filter(({ path }) =>
        // `/client/auth/*` are those that begin so.
        /[*…]$/.test(path) ? ![...paths].some((each) => each.startsWith(path.slice(0, -1))) : !paths.has(path)
      ),
      []
    )
  })

  it("name codes with the status that they have", () => {
    const statuses: Readonly<Record<string, { readonly status: number }>> = errorTable
    const pairs = [
      ...occurrences(/\b(?<status>[45]\d\d) +`(?<code>[a-z_]+)`/g),
      ...occurrences(/`(?<code>[a-z_]+)` \((?<status>[45]\d\d)\)/g),
      // The cells of tables. Units of measure are shorter.
      ...occurrences(/\| (?<status>[45]\d\d) (?<code>[a-z_]{6,}) (?=\|)/g)
    ]
    assert.isAbove(pairs.length, 100)
    const wrong = pairs
      .map(({ found: { groups }, page }) => ({ page, code: groups?.["code"], status: groups?.["status"] }))
      .filter(({ code = "", status }) => String(statuses[code]?.status) !== status)
    assert.deepStrictEqual(wrong, [])

    const bodies = occurrences(/"code": ?"([a-z_]+)"/g)
    assert.isAtLeast(bodies.length, 3)
    const unknown = bodies.filter(({ found: [, code = ""] }) => statuses[code] === undefined)
    assert.deepStrictEqual(unknown, [])
  })

  it("name events that there are", () => {
    const names = new Set<string>([
      ...eventTypes,
      ...integrationTypes,
      ...Object.keys(authorityMatrix),
      ...auditActionNames
    ])
    const named = occurrences(/`((?:run|runtime|schema)\.[a-z_.]*[a-z])`/g)
    assert.isAbove(named.length, 20)
    const missing = named
      .filter(({ found: [, name = ""] }) => !names.has(name))
      .map(({ found, page }) => ({ page, name: found[1] }))
    assert.deepStrictEqual(missing, [])
  })
})
