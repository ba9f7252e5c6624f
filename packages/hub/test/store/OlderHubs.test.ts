/** Statements of Hubs of 0.2.0 on the database of this version. */
import { query } from "@corral/testing/postgres/OutsidePostgres"
import { dropDatabase, makeDatabase, sharedServer } from "@corral/testing/postgres/SharedPostgres"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { usageMigration } from "../../src/store/migrations/Release03.ts"

describe("A Hub of 0.2.0 beside later ones", () => {
  it("links devices for them too, and ends those links", async () => {
    const url = await makeDatabase(await sharedServer(), { prepared: true })
    onTestFinished(() => dropDatabase(url))
    await query(
      url,
      "INSERT INTO users (id, issuer, subject, name, created_at) VALUES ('usr_a', 'i', 's', 'A', now())"
    )
    await query(
      url,
      "INSERT INTO devices (id, owner_id, name, kind, public_key, created_at) VALUES ('dev_a', 'usr_a', 'laptop', 'edge', 'key', now())"
    )
    const linked = () => query(url, "SELECT linked FROM devices")
    await query(url, "UPDATE devices SET lease_until = now() + interval '1 minute'")
    assert.deepStrictEqual(await linked(), [{ linked: true }])
    await query(url, "UPDATE devices SET lease_until = NULL")
    assert.deepStrictEqual(await linked(), [{ linked: false }])
  })

  const withProject = async () => {
    const url = await makeDatabase(await sharedServer(), { prepared: true })
    onTestFinished(() => dropDatabase(url))
    await query(
      url,
      `INSERT INTO projects (id, name, visibility, approvers, own_requests, created_at, updated_at)
       VALUES ('prj_a', 'P', 'private', 'member', true, now(), now());
       INSERT INTO tasks (id, project_id, target_id, created_by, state, on_offline, request, created_at, updated_at)
       VALUES ('tsk_a', 'prj_a', 'dev_a', 'usr_a', 'running', 'fail', '{}', now(), now())`
    )
    return url
  }
  const run = (id: string, more: Readonly<Record<string, string>> = {}) => {
    const row = {
      id: `'${id}'`,
      project_id: "'prj_a'",
      task_id: "'tsk_a'",
      target_id: "'dev_a'",
      offer: `'{"agentId":"scripted","workspace":"demo"}'`,
      made: "'{}'",
      state: "'queued'",
      created_at: "'2026-03-29T23:30:00Z'",
      updated_at: "now()",
      ...more
    }
    return `INSERT INTO runs (${Object.keys(row).join(", ")}) VALUES (${Object.values(row).join(", ")})`
  }

  it("counts its runs, and releases what they have reserved when they end", async () => {
    const url = await withProject()
    await query(url, run("run_a"))
    const usage = () =>
      query(url, "SELECT user_id, agent_id, day, ended, reserved_tokens::int AS reserved FROM run_usage")
    const counted = { user_id: "usr_a", agent_id: "scripted", day: "2026-03-29" }
    assert.deepStrictEqual(await usage(), [{ ...counted, ended: false, reserved: 0 }])
    await query(url, "UPDATE run_usage SET reserved_tokens = 50")
    await query(url, "UPDATE runs SET state = 'running'")
    assert.deepStrictEqual(await usage(), [{ ...counted, ended: false, reserved: 50 }])
    await query(url, "UPDATE runs SET state = 'failed'")
    assert.deepStrictEqual(await usage(), [{ ...counted, ended: true, reserved: 0 }])
    // Its events arrive after all: it reserves nothing again.
    await query(url, "UPDATE runs SET state = 'running'")
    assert.deepStrictEqual(await usage(), [{ ...counted, ended: false, reserved: 0 }])
    await query(url, "DELETE FROM runs")
    assert.deepStrictEqual(await usage(), [])
  })

  it("has the use of its runs booked by the migration, also of runs with damaged summaries", async () => {
    const url = await withProject()
    await query(
      url,
      `DROP TRIGGER run_usage_added ON runs; DROP TRIGGER run_usage_released ON runs; DROP FUNCTION run_usage_add; DROP FUNCTION run_usage_release;
       DROP TABLE run_usage, project_limits, limit_notices;
       ALTER TABLE runs DROP COLUMN reserved; ALTER TABLE projects DROP COLUMN time_zone, DROP COLUMN run_budget`
    )
    const summaryText = (summary: object) => `'${JSON.stringify(summary)}'`
    const usage = { inputTokens: 120, outputTokens: 30, cachedInputTokens: 100, turns: 2, costUsd: 0.1234567 }
    await query(url, run("run_a", { state: "'completed'", told: summaryText({ model: "big", usage }) }))
    await query(url, run("run_b", { told: summaryText({ resultText: "a\u0000b", usage }) }))
    await query(url, run("run_c", { told: summaryText({ usage: { costUsd: 1e300, inputTokens: -5 } }) }))
    await query(url, run("run_d"))
    await query(url, usageMigration.join(";\n"))
    const rows = await query(
      url,
      `SELECT run_id, model, ended, input_tokens::float8 AS input, output_tokens::float8 AS output, cost_micros::float8 AS cost
       FROM run_usage ORDER BY run_id`
    )
    const none = { model: null, ended: false, input: 0, output: 0, cost: null }
    assert.deepStrictEqual(rows, [
      { run_id: "run_a", model: "big", ended: true, input: 120, output: 30, cost: 123_457 },
      { run_id: "run_b", ...none },
      { run_id: "run_c", ...none, cost: 9_000_000_000_000_000 },
      { run_id: "run_d", ...none }
    ])
  })
})
