/** A real Edge, joined to a hostile Hub, beside a run of its owner that must not notice. */
import { assert, onTestFinished } from "@effect/vitest"
import type { RunId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { until, within } from "@corral/testing/time/Until"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"
import { Seeded } from "../harness/Seeded.ts"
import { HostileHub } from "./HostileHub.ts"
import { FORBIDDEN, HostileHubFrames, SECRET } from "./HostileHubFrames.ts"

export interface HostileHubFigures {
  readonly frames: number
  readonly links: number
  /** Commands that were answered. */
  readonly commands: number
  readonly seconds: number
}

/** Fails if the Edge hangs, ends, or does what the Hub may not ask. */
export const attackEdge = async (frames: number, seed: number): Promise<HostileHubFigures> => {
  const startedAt = performance.now()
  const seeded = new Seeded("hostile Hub", seed)
  const hub = new HostileHub(seeded)
  const edge = new EdgeProcess()
  onTestFinished(async () => {
    await edge.remove()
    await hub.end()
  })
  writeFileSync(join(edge.workspace, "a.txt"), "content\n")
  writeFileSync(join(edge.folder, "outside.txt"), SECRET)
  symlinkSync(join(edge.folder, "outside.txt"), join(edge.workspace, "link.txt"))
  symlinkSync(edge.folder, join(edge.workspace, "folder"))
  mkdirSync(edge.home, { recursive: true, mode: 0o700 })
  await hub.start(edge.home)
  await edge.start()
  const { pid } = edge
  const files = readdirSync(edge.workspace).toSorted()

  const local = await edge.client.create("/wait\n/say bye")
  const [waiting, first, ...more] = Array.from({ length: 12 }, (_, i) => mint<RunId>("run", Date.now() + i))
  if (waiting === undefined || first === undefined) return assert.fail("ids of runs")
  const runs = [first, ...more] as const
  for (const id of [waiting, ...runs]) edge.runIds.add(id)
  const create = {
    workspace: "ws",
    agentId: "scripted",
    mode: "ask",
    input: { text: "/wait\n".repeat(100) }
  }
  assert.strictEqual((await hub.ask("StartRun", { runId: waiting, create }))._tag, "Done")
  const untilRunning = (id: RunId): Promise<true> =>
    until(
      async () => ((await edge.client.run(id)).state === "running" ? true : undefined),
      `the run ${id}`,
      20_000
    )
  await Promise.all([untilRunning(local.id), untilRunning(waiting)])
  const before = await edge.client.run(local.id)

  const isServing = async (): Promise<void> => {
    const health = edge.client.ask("GET", "/v1/health")
    assert.strictEqual((await within(health, 10_000, `an answer (seed ${seed})`)).status, 200)
  }
  await hub.attack(new HostileHubFrames(seeded, { runs, waiting, local: local.id }), frames, isServing)

  // The same process works as before, over the link and without it.
  assert.strictEqual(edge.pid, pid)
  await isServing()
  const file = await hub.ask("ReadFile", { workspace: "ws", path: "a.txt" })
  assert.deepInclude(file._tag === "Done" ? file.value : {}, { content: "content\n" })
  // A run that is silent for long says so in its log.
  const { lastSeq: _, updatedAt: __, ...after } = await edge.client.run(local.id)
  assert.deepStrictEqual({ ...before, ...after }, before)
  for (const { id } of [local, { id: waiting }]) await edge.client.cancel(id)
  assert.strictEqual((await edge.client.run(local.id)).state, "cancelled")

  // Nothing ran that the Hub may not ask for, and nothing ran twice.
  const { body } = await edge.client.ask("GET", "/v1/runs?limit=200")
  const { items } = body as { readonly items: ReadonlyArray<{ readonly id: RunId }> }
  for (const { id } of items) {
    assert.include([local.id, waiting, ...runs], id)
    const log = await edge.client.log(id)
    assertWhole(log)
    assert.notInclude(JSON.stringify(log), FORBIDDEN)
    assert.lengthOf(
      log.filter(({ type }) => type === "run.created"),
      1
    )
    const texts = log
      .filter(({ payload }) => payload["role"] === "user")
      .map(({ payload }) => JSON.stringify(payload))
    const messages = texts.flatMap((text) => text.match(/said-\d+\./g) ?? [])
    assert.deepStrictEqual(messages, [...new Set(messages)])
    if (id === waiting) assert.isAbove(messages.length, 10)
  }
  assert.deepStrictEqual(readdirSync(edge.workspace).toSorted(), files)
  assert.strictEqual(readFileSync(join(edge.workspace, "a.txt"), "utf8"), "content\n")
  const answered = [...hub.outcomes.values()].flat()
  assert.notInclude(JSON.stringify(answered), SECRET)
  assert.notInclude(JSON.stringify(answered), '"code":"internal"')
  assert.notMatch(edge.stderr, /^timestamp=forged/m)
  const seconds = Math.round((performance.now() - startedAt) / 1_000)
  return { frames: hub.frames, links: hub.links, commands: answered.length, seconds }
}
