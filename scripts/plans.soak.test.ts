/**
 * Plans of every statement of Hub and Gateway, on a filled database: none reads a whole table that grows, and none sorts more rows than a limit
 * lets through.
 *
 * The tests of both services run on a server that logs all statements. Each logged statement that is made of a template in the sources is
 * explained, with parameters of one of its executions. A statement that is not in the log is explained without, so that none is missing. A piece that
 * is not in the log is reported: no plan has it. Statements that are planned once per connection are explained a second time, with the plan for all
 * parameters.
 *
 * `CORRAL_TEST_STATEMENTS_IN` is a folder with the logs of an earlier run, `hub` and `gateway`: the tests are not run then.
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
import { Client, type DatabaseError } from "pg"
import { fillTables } from "./plans/FilledTables.ts"
import {
  isStatement,
  isStatementSite,
  matches,
  siteOfStatement,
  sqlSitesIn,
  type SqlSite
} from "./plans/SqlSites.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const ROWS = 50_000

/** Tables that do not grow, and the queues whose rows are deleted when they are processed. */
const bounded = new Set(["corral_migrations", "search_changes", "kept_messages", "audit_parts"])

interface Accepted {
  readonly file: string
  /** Part of the template. */
  readonly template: string
  /** Beginning of the finding. */
  readonly finding: string
  readonly reason: string
}

const NOT_EXECUTED = "no test executes it"

const accepted: ReadonlyArray<Accepted> = [
  {
    file: "packages/hub/src/conversation/Deliveries.ts",
    template: "context = 'transcript', task_id = NULL",
    finding: NOT_EXECUTED,
    reason: "part of an update by its key"
  },
  {
    file: "packages/hub/src/conversation/LiveInputs.ts",
    template: "delivery = 'failed', error = $, to_run_id = NULL",
    finding: NOT_EXECUTED,
    reason: "part of an update by its key"
  },
  {
    file: "packages/hub/src/inspection/Findings.ts",
    template: ".pg_stat_statements",
    finding: NOT_EXECUTED,
    reason: "the server of the tests lacks the extension"
  },
  {
    file: "packages/hub/src/run/Retention.ts",
    template: "INSERT INTO $ (run_id, first_seq",
    finding: "relation",
    reason: "the table exists only during its transaction"
  },
  {
    file: "packages/hub/src/run/RunConversation.ts",
    template: "UPDATE tasks SET state = 'cancelled'",
    finding: NOT_EXECUTED,
    reason: "a task by its key, when a late answer and a second attempt meet"
  },
  {
    file: "packages/hub/src/run/RunRequests.ts",
    template: "WHERE id = $",
    finding: "Seq Scan run_events",
    reason: "tests read events"
  },
  {
    file: "packages/hub/src/usage/UsageLimits.ts",
    template: "DELETE FROM limit_notices WHERE at <",
    finding: "Seq Scan limit_notices",
    reason: "one Hub, every two minutes; a row per limit and day of a week"
  },
  {
    file: "packages/hub/src/usage/UsageLimits.ts",
    template: "SELECT DISTINCT project_id FROM project_limits",
    finding: "Index Only Scan project_limits",
    reason: "one Hub, every two minutes; each project with a limit is examined"
  },
  {
    file: "packages/hub/src/usage/UsageMetrics.ts",
    template: "FROM limit_notices n JOIN projects p",
    finding: "Seq Scan limit_notices, Seq Scan projects",
    reason: "once per scrape; a row per limit and day of a week"
  },
  {
    file: "packages/gateway/src/inbox/Inbox.ts",
    template: "DELETE FROM sender_queues WHERE head IS NULL",
    finding: "Seq Scan sender_queues",
    reason: "hourly; a row per sender of a week"
  },
  {
    file: "packages/gateway/src/store/StoreMetrics.ts",
    template: "FROM dead_letters",
    finding: "Seq Scan dead_letters",
    reason: "few, and deleted after a month"
  }
]

/** Runs tests on a server that logs into that folder. A failed test is reported by its own run; what it did not execute is missing here. */
const runLogged = (folder: string, tests: ReadonlyArray<string>): Promise<unknown> =>
  promisify(execFile)("npx", ["vitest", "run", ...tests], {
    cwd: root,
    env: { ...process.env, CORRAL_TEST_STATEMENTS: folder, CORRAL_TEST_EFFORT: "1" },
    maxBuffer: 1 << 28
  }).catch(() => undefined)

const SYNTAX_ERROR = "42601"

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

const isAccepted = ({ file, finding, template }: Accepted, { scans, site }: Finding): boolean =>
  file === site.file && site.chunks.join("$").includes(template) && scans.startsWith(finding)

interface Finding {
  readonly site: SqlSite
  readonly scans: string
}

describe.each([
  { service: "hub", schema: "public", outside: [] },
  {
    service: "gateway",
    schema: "corral_gateway",
    outside: ["packages/gateway/test/e2e", "packages/cli/test/joined/Chat", "packages/cli/test/joined/Slack"]
  }
])("The statements of the $service", ({ outside, schema, service }) => {
  const earlier = process.env["CORRAL_TEST_STATEMENTS_IN"]
  const folder =
    earlier === undefined ? mkdtempSync(join(tmpdir(), "corral-statements-")) : join(earlier, service)
  let sites: ReadonlyArray<SqlSite>
  let statements: ReadonlyArray<LoggedStatement>
  let url: string
  let client: Client

  beforeAll(async () => {
    if (earlier === undefined) {
      await runLogged(folder, [`packages/${service}/test`])
      if (outside.length > 0) await runLogged(folder, ["--config", "vitest.e2e.config.ts", ...outside])
    }
    sites = sqlSitesIn(root, `packages/${service}/src`)
    // Not those of tests, and of the other service.
    statements = [...readStatementLog(folder, new RegExp(`^corral[- ]${service}\\b`)).values()]
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
  }, 1_200_000)

  afterAll(async () => {
    await client.end()
    await dropDatabase(url)
    if (earlier === undefined) rmSync(folder, { recursive: true })
  })

  it("read no whole table that grows, and sort no more rows than they return", async () => {
    const few = new Set([...bounded, ...(await partialIndexes(client))])
    const found: Array<Finding> = []
    await client.query("SET plan_cache_mode = force_custom_plan")
    const explain = async (site: SqlSite, statement: LoggedStatement) => {
      const scans = await tableScans(client, statement, few).catch((error: DatabaseError) => [
        // Insertions that are no parameters.
        statement.parameters === undefined && error.code === SYNTAX_ERROR ? NOT_EXECUTED : error.message
      ])
      if (scans.length > 0) found.push({ site, scans: scans.join(", ") })
    }
    for (const statement of statements) {
      if (!isStatement(statement.text) || migrations.includes(oneLine(statement.text))) continue
      const site = siteOfStatement(sites, statement.text)
      if (site !== undefined) await explain(site, statement)
    }
    await client.query("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off")
    const plannedOnce = statements.filter(({ isPlannedOnce }) => isPlannedOnce === true)
    assert.strictEqual(plannedOnce.length > 0, service === "hub")
    for (const statement of plannedOnce) {
      const site = siteOfStatement(sites, statement.text)
      if (site !== undefined && isStatement(statement.text)) await explain(site, statement)
    }
    await client.query("SET plan_cache_mode = force_custom_plan; SET enable_seqscan = on")
    for (const site of sites) {
      if (site.chunks.join("").trim() === "" || statements.some(({ text }) => matches(site, text, false)))
        continue
      if (isStatementSite(site)) await explain(site, { text: withParameters(site), parameters: undefined })
      else found.push({ site, scans: NOT_EXECUTED })
    }
    const unexpected = found.filter((finding) => !accepted.some((each) => isAccepted(each, finding)))
    assert.deepStrictEqual(
      [...new Set(unexpected.map(({ scans, site }) => `${site.file}:${site.line}: ${scans}`))].sort(),
      []
    )
    const unused = accepted.filter(
      (each) =>
        each.file.startsWith(`packages/${service}/`) && !found.some((finding) => isAccepted(each, finding))
    )
    assert.deepStrictEqual(unused, [])
  }, 300_000)
})
