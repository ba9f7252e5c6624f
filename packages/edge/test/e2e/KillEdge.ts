/**
 * Kills an Edge at a random moment of its work, starts it again on the same home, and holds what it then says against everything it had
 * acknowledged before: events received, snapshots, created runs, decisions.
 */
import { assert } from "@effect/vitest"
import { Run } from "@corral/domain/run/Run"
import { Schema } from "effect"
import type { Answer, EdgeClient, EventReader } from "@corral/testing/edge/EdgeClient"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { assertWhole } from "../harness/LogInvariants.ts"
import type { Seeded } from "../harness/Seeded.ts"

/** What clients were told before the kill. */
interface Acknowledged {
  readonly readers: ReadonlyMap<string, EventReader>
  readonly snapshots: Array<Run>
  /** Approval id → the state that the answer to the decision gave. */
  readonly decided: Map<string, string>
}

const runOf = Schema.decodeUnknownSync(Run)

/** Answers that the kill cut off are none. */
const unlessCut = (answer: Promise<Answer>): Promise<Answer | undefined> => answer.catch(() => undefined)

/** One request that is under way when the Edge dies. */
const inTheAir = async (
  client: EdgeClient,
  seeded: Seeded,
  work: { readonly stream: string; readonly waiting: string; readonly approvalId: string },
  acknowledged: Acknowledged
): Promise<void> => {
  switch (seeded.whole(0, 4)) {
    case 0:
      return
    case 1: {
      const answer = await unlessCut(client.tryCreate("/say born late"))
      if (answer?.status === 201) acknowledged.snapshots.push(runOf(answer.body))
      return
    }
    case 2: {
      const answer = await unlessCut(client.cancel(work.stream))
      if (answer?.status === 200) acknowledged.snapshots.push(runOf(answer.body))
      return
    }
    case 3: {
      const answer = await unlessCut(client.decide(work.waiting, work.approvalId, "allow"))
      if (answer?.status === 200) acknowledged.decided.set(work.approvalId, "approved")
      return
    }
    default: {
      const answer = await unlessCut(client.ask("GET", `/v1/runs/${work.stream}`))
      if (answer?.status === 200) acknowledged.snapshots.push(runOf(answer.body))
    }
  }
}

/** Some work, then SIGKILL once the streaming run has that number of events. */
const workAndKill = async (edge: EdgeProcess, seeded: Seeded): Promise<Acknowledged> => {
  const { client } = edge
  const rate = seeded.pick([0, 300, 2_000, 5_000])
  const left = seeded.pick(["/hang", "/children 2\n/hang", "/daemon\n/ignore-signals\n/hang"])
  const runs = await Promise.all([
    client.create(`/stream 1000000 ${rate} ${seeded.pick([40, 64, 4_000])}`),
    client.create("/ask\n/hang"),
    client.create(`/say left\n${left}`)
  ])
  const [stream, waiting, leaving] = runs
  const open = async ({ id }: Run) => [id, await client.follow({ runId: id })] as const
  const readers = new Map(await Promise.all(runs.map(open)))
  const acknowledged: Acknowledged = { readers, snapshots: [...runs], decided: new Map() }
  const event = await readers.get(waiting.id)?.event("run.approval.requested")
  await readers.get(leaving.id)?.message("left")
  await readers.get(stream.id)?.count(seeded.whole(1, 600))
  const approvalId = String(event?.payload["approvalId"])
  const cut = inTheAir(client, seeded, { stream: stream.id, waiting: waiting.id, approvalId }, acknowledged)
  const streamed = readers.get(stream.id)?.events.length ?? 0
  // Some events later, or when the run has ended by what is in the air.
  await Promise.race([
    readers.get(stream.id)?.count(streamed + seeded.whole(0, 40)),
    readers.get(stream.id)?.ended
  ])
  await edge.kill()
  await cut
  return acknowledged
}

const assertKept = async (edge: EdgeProcess, acknowledged: Acknowledged): Promise<void> => {
  const { client } = edge
  assert.deepStrictEqual(
    edge.survivors(),
    [],
    "nothing of the dead Edge's runs is left when the next one is ready"
  )
  for (const [runId, before] of acknowledged.readers) {
    const after = await client.follow({ runId })
    assert.strictEqual((await after.ended).code, 1000)
    assertWhole(after.events)
    assert.deepStrictEqual(
      after.frames.slice(0, before.frames.length),
      before.frames,
      "what was received is kept"
    )
    const run = await client.run(runId)
    assert.strictEqual(`run.${run.state}`, after.events.at(-1)?.type)
    assert.strictEqual(run.lastSeq, after.events.length)
    assert.deepStrictEqual(run.pendingApprovals, [])
    for (const requests of before.events.filter(({ type }) => type === "run.approval.requested")) {
      const id = String(requests.payload["approvalId"])
      const { state } = await client.approval(id)
      assert.notStrictEqual(state, "pending")
      assert.strictEqual(state, acknowledged.decided.get(id) ?? state)
    }
  }
  for (const seen of acknowledged.snapshots) {
    assert.isAtLeast((await client.run(seen.id)).lastSeq, seen.lastSeq, "a snapshot's lastSeq is on disk")
  }
  assert.deepStrictEqual(await client.approvals("state=pending"), [])
}

/** One kill and what comes after. */
export const killEdge = async (edge: EdgeProcess, seeded: Seeded): Promise<void> => {
  const acknowledged = await workAndKill(edge, seeded)
  await edge.start()
  await assertKept(edge, acknowledged)
}

/** Every run the Edge ever had is over, and its log whole. */
export const assertAllOver = async (edge: EdgeProcess): Promise<number> => {
  const runs: Array<Run> = []
  let cursor: string | null = ""
  while (cursor !== null) {
    const query: string = cursor === "" ? "" : `&cursor=${cursor}`
    const answer = await edge.client.ask("GET", `/v1/runs?limit=200${query}`)
    // Judged against the contract by the client.
    const page = answer.body as { readonly items: ReadonlyArray<unknown>; readonly nextCursor: string | null }
    runs.push(...page.items.map((item) => runOf(item)))
    cursor = page.nextCursor
  }
  for (const run of runs) {
    assert.include(["completed", "failed", "cancelled"], run.state)
    assertWhole(await edge.client.log(run.id))
  }
  return runs.length
}
