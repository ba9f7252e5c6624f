/**
 * 1,000 live runs on one Edge at once, all of which end cleanly. Their runtime is a shell script that speaks the duplex stream of Claude
 * Code: a megabyte each instead of forty, so that what is measured is the Edge.
 */
import { assert, it } from "@effect/vitest"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { writeProgram } from "../Folder.ts"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"

const RUNS = 1_000

/** Says that it is there, waits at the gate, and completes. The words stand where `claude` puts them. */
const claude = `
case "$*" in *--version*) echo "2.1.329 (Claude Code)"; exit 0;; esac
read -r initialize
read -r message
echo '{"type":"system","subtype":"init","session_id":"soak","model":"none"}'
echo '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"ready"}]},"session_id":"soak"}'
read -r go < gate
echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"soak","usage":{"input_tokens":1,"output_tokens":1}}'
read -r rest
`

it("holds 1,000 live runs and ends each of them cleanly", async () => {
  const bin = mkdtempSync(join(tmpdir(), "corral-bin-"))
  writeProgram(join(bin, "claude"), claude)
  const edge = new EdgeProcess({
    env: {
      PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`,
      CORRAL_EDGE_MAX_RUNS: String(RUNS),
      CORRAL_EDGE_MAX_QUEUED: "0"
    }
  })
  try {
    execFileSync("mkfifo", [join(edge.workspace, "gate")])
    await edge.start()
    const { client } = edge
    const all = await client.follow({})
    const empty = edge.memory
    const startedAt = performance.now()
    const ids: Array<string> = []
    const lane = async () => {
      while (ids.length < RUNS) {
        const place = ids.push("") - 1
        const run = await client.create("Wait at the gate.", "ask", { agentId: "claude-code" })
        ids[place] = run.id
      }
    }
    await Promise.all([lane(), lane(), lane(), lane()])
    const ready = () =>
      new Set(all.events.filter((e) => e.payload["text"] === "ready").map((e) => e.runId)).size
    await all.event(({ payload }) => payload["text"] === "ready" && ready() === RUNS, 300_000)
    const startedMs = performance.now() - startedAt
    const full = edge.memory
    const health = await client.ask("GET", "/v1/health")
    assert.deepInclude((health.body as { readonly runs?: object }).runs, { live: RUNS })
    const refused = await client.tryCreate("one too many", "ask", { agentId: "claude-code" })
    assert.strictEqual(refused.status, 503, refused.text)

    const opened = performance.now()
    // Held open until the last one has passed: late readers still find it open.
    const gate = spawn("sh", ["-c", `exec > gate; yes go | head -n ${RUNS * 2}; read -r over`], {
      cwd: edge.workspace,
      stdio: ["pipe", "ignore", "inherit"]
    })
    const over = () => all.events.filter(({ type }) => type === "run.completed").length
    await all.event(({ type }) => type === "run.completed" && over() === RUNS, 300_000)
    const endedMs = performance.now() - opened
    gate.stdin.end()
    gate.kill("SIGKILL")
    await once(gate, "exit")

    const byRun = Map.groupBy(all.events, ({ runId }) => String(runId))
    assert.deepStrictEqual(new Set(byRun.keys()), new Set(ids))
    for (const events of byRun.values()) {
      assertWhole(events)
      assert.strictEqual(events.at(-1)?.type, "run.completed")
    }
    assert.deepStrictEqual(edge.survivors(), [])
    console.log(
      JSON.stringify({
        what: "1,000 live runs on one Edge",
        emptyMb: Math.round(empty / 1e6),
        fullMb: Math.round(full / 1e6),
        kbPerRun: Math.round((full - empty) / RUNS / 1e3),
        startedMs: Math.round(startedMs),
        endedMs: Math.round(endedMs)
      })
    )
  } finally {
    await edge.remove()
    rmSync(bin, { recursive: true })
  }
})
