/** A runtime that asks for more than anybody can decide: it waits, nothing of it is lost, and nothing is allowed without a decision. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { EdgeClient, EventReader } from "@corral/testing/edge/EdgeClient"
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import type { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { until } from "@corral/testing/time/Until"
import { assertWhole } from "../harness/LogInvariants.ts"
import { readFileSync } from "node:fs"
import { MAX_OPEN_APPROVALS } from "../../src/run/kernel/KernelState.ts"
import { sizeOf } from "../../src/approval/Policy.ts"

let edge: EdgeProcess
let client: EdgeClient
beforeAll(async () => {
  edge = new EdgeInProcess()
  await edge.start()
  client = edge.client
})
afterAll(() => edge.remove())

const REQUESTED = MAX_OPEN_APPROVALS + 24

const requested = ({ events }: EventReader) => events.filter(({ type }) => type === "run.approval.requested")
const resolved = ({ events }: EventReader) => events.filter(({ type }) => type === "run.approval.resolved")
const idOf = ({ payload }: EventReader["events"][number]): string => String(payload["approvalId"])

/** Follows a run of that script until it has asked for as much as may wait. */
const flooded = async (script: string) => {
  const { id } = await client.create(script)
  const reader = await client.follow({ runId: id })
  await reader.event(() => requested(reader).length >= MAX_OPEN_APPROVALS)
  return { id, reader }
}

const isSleeping = (pid: number): boolean =>
  readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.startsWith("S") === true

const completed = async (reader: EventReader): Promise<EventReader["events"][number] | undefined> => {
  await reader.ended
  assertWhole(reader.events)
  return reader.events.at(-1)
}

describe("A run that asks for many approvals at once", () => {
  it("has a limited number of them open, and asks for the rest as they are decided", async () => {
    const { id, reader } = await flooded(`/flood ${REQUESTED} 8 true`)
    for (let at = 0; at < REQUESTED; at++) {
      await reader.event(() => requested(reader).length > at)
      assert.isAtMost((await client.run(id)).pendingApprovals.length, MAX_OPEN_APPROVALS)
      const approvalId = idOf(requested(reader)[at] ?? assert.fail())
      const answer = await client.decide(id, approvalId, at % 2 === 0 ? "allow" : "deny")
      assert.strictEqual(answer.status, 200)
    }
    assert.strictEqual(
      (await completed(reader))?.payload["text"],
      `${Math.ceil(REQUESTED / 2)} of ${REQUESTED} allowed`
    )
    assert.strictEqual(resolved(reader).length, REQUESTED)
  })

  it("does not hold up another run", async () => {
    const { id } = await flooded(`/flood ${REQUESTED} 8 true`)
    const other = await client.log((await client.create("/say one\n/say two")).id)
    assert.strictEqual(other.at(-1)?.type, "run.completed")
    assert.strictEqual((await client.cancel(id)).status, 200)
  })

  it("can be cancelled", async () => {
    const { id, reader } = await flooded(`/flood ${REQUESTED} 8 true`)
    assert.strictEqual((await client.cancel(id)).status, 200)
    assert.strictEqual((await completed(reader))?.type, "run.cancelled")
    assert.strictEqual(resolved(reader).length, requested(reader).length)
  })

  it("ends when its program is killed, with everything that it had asked for", async () => {
    const { id, reader } = await flooded(`/flood ${REQUESTED} 8 true`)
    // It sleeps once it has written all requests.
    const processes = edge.survivorsOf(id)
    await until(
      () => Promise.resolve(processes.every(({ pid }) => isSleeping(pid)) || undefined),
      "a program that waits for decisions"
    )
    for (const { pid } of processes) process.kill(pid, "SIGKILL")
    assert.strictEqual((await completed(reader))?.type, "run.failed")
    assert.strictEqual(requested(reader).length, REQUESTED)
    assert.strictEqual(resolved(reader).length, REQUESTED)
    assert.isTrue(resolved(reader).every(({ payload }) => payload["state"] === "cancelled"))
  })

  it.each(["{a,", "[[ ", "$("])("of %j in read_only is denied each of them", async (piece) => {
    const events = await client.log((await client.create(`/flood 40 3900 ${piece}`, "read_only")).id)
    assertWhole(events)
    assert.strictEqual(events.at(-1)?.payload["text"], "0 of 40 allowed")
    assert.strictEqual(events.filter(({ type }) => type === "run.approval.requested").length, 40)
  })
})

describe("An approval request", () => {
  it("that is too long to be shown is cut, of high risk, and for once", async () => {
    const { id } = await client.create("/flood 1 400000 true\\ ", "auto_edit")
    const reader = await client.follow({ runId: id })
    const { payload } = await reader.event("run.approval.requested")
    const [approval] = await client.approvals(`runId=${id}&state=pending`)
    assert.isBelow(sizeOf(payload, Infinity), 100_000)
    assert.isBelow(sizeOf(approval, Infinity), 100_000)
    assert.deepInclude(approval?.request, { editable: false, risk: "high", scopes: ["once"] })
    assert.isTrue(approval?.request.command?.endsWith("…"))
    await client.decide(id, String(payload["approvalId"]), "allow")
    assert.strictEqual((await completed(reader))?.payload["text"], "1 of 1 allowed")
  })

  it("that is larger than can be reviewed is denied with the reason", async () => {
    const events = await client.log((await client.create("/flood 1 2000000 x")).id)
    assertWhole(events)
    const denied = events.find(({ type }) => type === "run.approval.resolved")
    assert.deepInclude(denied?.payload, { by: "policy:size", state: "denied" })
    assert.match(String(denied?.payload["reason"]), /larger than 1 MiB/)
    assert.strictEqual(events.at(-1)?.payload["text"], "0 of 1 allowed")
  })
})
