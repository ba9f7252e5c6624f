/**
 * Plans of every statement of Hub and Gateway, on a filled database: none reads a whole table that grows, and none sorts more rows than a limit
 * lets through.
 *
 * The tests of both services run on a server that logs all statements. Each logged statement that is made of a template in the sources is
 * explained, with parameters of one of its executions. Templates that are not in the log are explained without, so that none is missing.
 */
import * as Database from "@corral/gateway/store/Database"
import { GatewayConfig, gatewayDefaults } from "@corral/gateway/GatewayConfig"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import {
  type LoggedStatement,
  partialIndexes,
  readStatementLog,
  tableScans
} from "@corral/testing/postgres/StatementLog"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { execFile } from "node:child_process"
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Client } from "pg"
import { fillTables } from "./plans/FilledTables.ts"
import { matches, sqlSitesIn, type SqlSite } from "./plans/SqlSites.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const ROWS = 50_000

/** Tables that do not grow, and the queues whose rows are deleted when they are processed. */
const bounded = new Set(["corral_migrations", "search_changes", "kept_messages", "audit_parts"])

/** Findings that are accepted, by their beginnings, with the reason. */
const accepted: ReadonlyArray<readonly [finding: string, reason: string]> = [
  ["packages/hub/src/audit/AuditTrail.ts:125: Seq Scan audit", "tests read by resource"],
  ["packages/hub/src/store/ListPage.ts:56: Seq Scan users", "tests read by name"],
  ["packages/hub/src/store/ListPage.ts:56: relation", "tests read tables of the Gateway"],
  ["packages/hub/src/run/Retention.ts:163: relation", "the table exists only during its transaction"],
  ["packages/hub/src/inspection/Findings.ts:225: syntax error", "the extension's schema is part of it"],
  ["packages/hub/src/run/RunRequests.ts:62: Seq Scan run_events", "tests read events"],
  ["packages/hub/src/conversation/LiveInputs.ts:149: syntax error", "part of an update by its key"],
  ["packages/hub/src/conversation/Deliveries.ts:73: syntax error", "part of an update by its key"],
  ["packages/gateway/src/conversation/Conversations.ts:103: syntax error", "the row is part of it"],
  ["packages/gateway/src/following/RequestCardStore.ts:131: relation", "tests read tables of the Hub"],
  ["packages/gateway/src/following/RequestCardStore.ts:141: relation", "tests read tables of the Hub"],
  [
    "packages/gateway/src/following/RequestCardStore.ts:78: syntax error",
    "the name of the key is part of it"
  ],
  [
    "packages/gateway/src/following/RequestCardStore.ts:93: syntax error",
    "the name of the key is part of it"
  ],
  ["packages/gateway/src/handling/Notices.ts:45: column", "a time without its type"],
  ["packages/gateway/src/inbox/Inbox.ts:61: Seq Scan sender_queues", "hourly; a row per sender of a month"],
  ["packages/gateway/src/store/StoreMetrics.ts:22: Seq Scan dead_letters", "few, and deleted after a month"]
]

/** Runs tests on a server that logs into that folder. A failed test is reported by its own run; what it did not execute is missing here. */
const runLogged = (folder: string, tests: ReadonlyArray<string>): Promise<unknown> =>
  promisify(execFile)("npx", ["vitest", "run", ...tests], {
    cwd: root,
    env: { ...process.env, CORRAL_TEST_STATEMENTS: folder, CORRAL_TEST_EFFORT: "1" },
    maxBuffer: 1 << 28
  }).catch(() => undefined)

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

/** Statements that run once. */
const migrations = oneLine(
  globSync(`${root}/packages/*/src/store/migrations{,/*}.ts`)
    .map((file) => readFileSync(file, "utf8"))
    .join("\n")
)

/** The statement, if it inserts only parameters. */
const withParameters = ({ chunks }: SqlSite): string =>
  chunks.reduce((text, chunk, i) => `${text}${i === 0 ? "" : `$${i}`}${chunk}`, "")

const isExplained = (text: string): boolean => /^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(text)

describe.each([
  { service: "hub", schema: "public", outside: [] },
  {
    service: "gateway",
    schema: "corral_gateway",
    outside: ["packages/gateway/test/e2e", "packages/cli/test/joined/Chat", "packages/cli/test/joined/Slack"]
  }
])("The statements of the $service", ({ outside, schema, service }) => {
  const folder = process.env["CORRAL_TEST_STATEMENTS_IN"] ?? mkdtempSync(join(tmpdir(), "corral-statements-"))
  let sites: ReadonlyArray<SqlSite>
  let statements: ReadonlyArray<LoggedStatement>
  let url: string
  let client: Client

  beforeAll(async () => {
    if (process.env["CORRAL_TEST_STATEMENTS_IN"] === undefined) {
      await runLogged(folder, [`packages/${service}/test`])
      if (outside.length > 0) await runLogged(folder, ["--config", "vitest.e2e.config.ts", ...outside])
    }
    sites = sqlSitesIn(root, `packages/${service}/src`)
    statements = [...readStatementLog(folder).values()]
    url = await makeDatabase(await sharedServer(), { prepared: true })
    await Effect.runPromise(
      Effect.scoped(
        Layer.build(
          Database.gatewayDatabaseLayer.pipe(
            Layer.provide(
              Layer.succeed(GatewayConfig, { ...gatewayDefaults, databaseUrl: Redacted.make(url) })
            )
          )
        )
      )
    )
    client = new Client({ connectionString: url })
    await client.connect()
    await fillTables(client, schema, ROWS, bounded)
    await client.query(`SET search_path = ${schema}`)
    await client.query("SET plan_cache_mode = force_custom_plan")
  }, 1_200_000)

  afterAll(async () => {
    await client.end()
    await dropDatabase(url)
    if (process.env["CORRAL_TEST_STATEMENTS_IN"] === undefined) rmSync(folder, { recursive: true })
  })

  it("read no whole table that grows, and sort no more rows than they return", async () => {
    const few = new Set([...bounded, ...(await partialIndexes(client))])
    const found: Array<string> = []
    const explain = async (site: SqlSite, statement: LoggedStatement) => {
      const scans = await tableScans(client, statement, few).catch((error: Error) => [error.message])
      if (scans.length > 0) found.push(`${site.place}: ${scans.join(", ")}`)
    }
    for (const statement of statements) {
      if (!isExplained(statement.text) || migrations.includes(oneLine(statement.text))) continue
      const site = sites.find(
        (each) => isExplained(each.chunks[0] ?? "") && matches(each, statement.text, true)
      )
      if (site !== undefined) await explain(site, statement)
    }
    // A statement that the tests of the service do not execute has no parameters; a part of one fails here.
    for (const site of sites)
      if (site.chunks.join("").trim() !== "" && !statements.some(({ text }) => matches(site, text, false)))
        await explain(site, { text: withParameters(site), parameters: undefined })
    assert.deepStrictEqual(
      [...new Set(found)].filter((finding) => !accepted.some(([start]) => finding.startsWith(start))).sort(),
      []
    )
  }, 300_000)
})
