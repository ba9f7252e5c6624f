/**
 * A disk that is full under live runs: nothing acknowledged is lost, nothing is shown that is not on disk, and when there is room again
 * every log is ended, without a restart.
 *
 * The disk is real: a file-size limit that the kernel holds (no privileges needed), and a small file system where this user may mount one.
 */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { codeOf, type EdgeClient } from "@corral/testing/edge/EdgeClient"
import { EdgeProcess, openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"
import { until } from "@corral/testing/time/Until"

interface Disk {
  readonly fill: () => void
  readonly free: () => void
}

interface Readiness {
  readonly status: string
  readonly store?: { readonly status: string; readonly freeBytes?: number; readonly message?: string }
}

const run = (program: string, ...args: ReadonlyArray<string>): boolean =>
  spawnSync(program, args, { stdio: "ignore" }).status === 0

const readiness = async (client: EdgeClient): Promise<Readiness> =>
  (await client.ask("GET", "/v1/health")).body as Readiness

const untilStore = (client: EdgeClient, status: string): Promise<Readiness> =>
  until(
    async () => {
      const answer = await readiness(client)
      // The Edge's own status may be of the disk's room, which a small one never has.
      return answer.store?.status === status ? answer : undefined
    },
    `the store's health ${status}`,
    20_000
  )

const fillAndFree = async (edge: EdgeProcess, { fill, free }: Disk): Promise<void> => {
  const { client } = edge
  const writing = await client.create("/children 2\n/say ready\n/stream 1000000 200 2000")
  const waitingRun = await client.create("/ask\n/say after")
  const writer = await client.follow({ runId: writing.id })
  const everything = await client.follow({})
  const asker = await client.follow({ runId: waitingRun.id })
  const requested = await asker.event("run.approval.requested")
  await writer.count(50)

  fill()
  const degraded = await untilStore(client, "degraded")
  assert.strictEqual(degraded.status, "degraded")
  assert.isNumber(degraded.store?.freeBytes)
  assert.match(degraded.store?.message ?? "", /disk/)
  const open = await client.ask("GET", "/health", { token: null })
  assert.deepStrictEqual([open.status, (open.body as Readiness).status], [503, "degraded"])
  assert.strictEqual((await client.ask("GET", "/health/live", { token: null })).status, 200)

  const refused = await client.tryCreate("/say too late")
  assert.strictEqual(refused.status, 503, refused.text)
  assert.strictEqual(codeOf(refused), "overloaded")
  assert.match(refused.text, /store takes no writes/)
  await until(async () => {
    await client.run(writing.id)
    return edge.survivorsOf(writing.id).length === 0 ? true : undefined
  }, "the end of the processes of the run that could not be written")
  // Nothing is shown that is not on disk: the run has not ended yet, and its readers have seen no end.
  assert.strictEqual((await client.run(writing.id)).state, "running")
  const before = writer.events.length
  assert.strictEqual(writer.events.at(-1)?.type, "run.message.delta")

  free()
  assert.strictEqual((await writer.ended).code, 1000)
  await untilStore(client, "ok")
  assertWhole(writer.events)
  assert.isAtLeast(writer.events.length, before)
  const last = writer.events.at(-1)
  assert.strictEqual(last?.type, "run.failed")
  assert.deepInclude(last?.payload["error"], {
    code: "runtime_unavailable",
    details: { reason: "store_failed" }
  })
  await everything.event(({ runId, seq }) => runId === writing.id && seq === last?.seq)
  assert.strictEqual((await client.run(writing.id)).lastSeq, last?.seq)
  assert.strictEqual((await client.result(writing.id)).status, 503)

  // The run that had nothing to write has lost nothing and continues.
  const decided = await client.decide(waitingRun.id, String(requested.payload["approvalId"]), "allow")
  assert.strictEqual(decided.status, 200, decided.text)
  await asker.ended
  assertWhole(asker.events)
  assert.strictEqual(asker.events.at(-1)?.type, "run.completed")
  const next = await client.create("/say again")
  assertWhole(await client.log(next.id))

  await edge.kill()
  await edge.start()
  assert.deepStrictEqual(await edge.client.log(writing.id), writer.events)
  assert.deepStrictEqual(await edge.client.log(waitingRun.id), asker.events)
}

const mountable = (() => {
  const folder = mkdtempSync(join(tmpdir(), "corral-mount-"))
  const mounted = run("mount", "-t", "tmpfs", "-o", "size=1m", "corral-test", folder)
  if (mounted) run("umount", folder)
  rmSync(folder, { recursive: true, force: true })
  return mounted
})()

describe("A full disk", () => {
  it.skipIf(process.platform !== "linux")("whose files may not grow ends runs and starts none", async () => {
    const edge = await openEdgeProcess({ env: { CORRAL_EDGE_CANCEL_GRACE_MS: "500" } })
    const limit = (bytes: number | "unlimited") =>
      assert.isTrue(run("prlimit", "--pid", String(edge.pid), `--fsize=${bytes}:unlimited`))
    await fillAndFree(edge, {
      fill: () => limit(statSync(join(edge.home, "edge.db-wal")).size + 50_000),
      free: () => limit("unlimited")
    })
  })

  it.skipIf(!mountable)("that is a small file system ends runs and starts none", async () => {
    const edge = new EdgeProcess({ env: { CORRAL_EDGE_CANCEL_GRACE_MS: "500" } })
    onTestFinished(() => edge.remove())
    mkdirSync(edge.home, { mode: 0o700 })
    assert.isTrue(run("mount", "-t", "tmpfs", "-o", "size=32m,mode=0700", "corral-test", edge.home))
    // Before the folder is removed, and while the Edge may still have files open there.
    onTestFinished(() => void run("umount", "--lazy", edge.home))
    const ballast = join(edge.home, "ballast")
    await edge.start()
    await fillAndFree(edge, {
      fill: () => {
        // As much as there is room for.
        assert.throws(() => writeFileSync(ballast, Buffer.alloc(64 * 1_048_576)), /ENOSPC/)
      },
      free: () => rmSync(ballast)
    })
  })
})
