import { openedPreviewOf } from "../harness/OpenedPreview.ts"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { CommandId, EdgeCommand } from "@corral/domain/link/EdgeCommand"
import type { ApprovalId, PreviewId, ProjectId, RunId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { Effect, Result } from "effect"
import { within } from "@corral/testing/time/Until"
import { startCommandId } from "../../src/edges/CommandRequest.ts"
import { Commands } from "../../src/edges/Commands.ts"
import { codeOf } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { type Answers, LinkedEdge, offer, taken } from "../harness/LinkedEdge.ts"
import {
  approvalRequested,
  runCompleted,
  createdRun,
  createRun,
  linesOf,
  Mirror,
  newId,
  messageDelta,
  runStarted
} from "@corral/testing/hub/Mirror"
import { Statements } from "../harness/Statements.ts"
import { makeTask, stateOf, until, untilTask, type World, worldOf } from "./World.ts"

const failureOf = <A>(answer: Result.Result<A, { readonly code: string }>): string =>
  Result.isFailure(answer) ? answer.failure.code : "taken"

describe("links", () => {
  const hub = new HubInProcess()
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  const statements = new Statements(hub)
  const linked = async (answers?: Answers): Promise<{ world: World; edge: LinkedEdge }> => {
    const world = await worldOf(hub)
    const edge = await LinkedEdge.link(hub.url, { ...world, ...(answers === undefined ? {} : { answers }) })
    return { world, edge }
  }
  /** A run that was started over the link. */
  const running = async (world: World, edge: LinkedEdge): Promise<RunId> => {
    const { body } = await makeTask(world)
    const { runId } = await untilTask(world, body.id, "dispatched")
    assert.isDefined(runId)
    assert.strictEqual(
      failureOf(await edge.push(runId, 1, linesOf(runId, 1, [createdRun, runStarted]))),
      "taken"
    )
    return runId
  }

  describe("fencing", () => {
    it("ends the older link of the same Hub immediately", async () => {
      const { edge, world } = await linked()
      const newer = await LinkedEdge.link(hub.url, world)
      assert.strictEqual(newer.generation, edge.generation + 1)
      assert.strictEqual((await within(edge.closed, 2_000, "the older link's end")).code, 4409)
      assert.strictEqual(failureOf(await newer.heartbeat()), "taken")
      assert.strictEqual(await stateOf(world), "online")
    })

    it("refuses every call of an older link", async () => {
      const world = await worldOf(hub)
      let edge = await LinkedEdge.link(hub.url, world)
      const runId = await running(world, edge)
      const calls: ReadonlyArray<(edge: LinkedEdge) => Promise<Result.Result<unknown, { code: string }>>> = [
        (edge) => edge.heartbeat(),
        (edge) => edge.acks(runId),
        (edge) => edge.push(runId, 3, linesOf(runId, 3, [runCompleted])),
        (edge) =>
          edge.done(
            // No more of a command is looked at here.
            { commandId: `start.${runId}` } as unknown as Parameters<LinkedEdge["done"]>[0],
            { _tag: "Refused", error: { code: "internal", message: "" } }
          ),
        (edge) => edge.prove()
      ]
      const ofOlder = async (call: (typeof calls)[number]) => {
        // For the further proof; and the Hub has looked at this link once after it was taken.
        await edge.hello()
        // As another Hub does, whose notice has not come.
        await statements.execute(
          `UPDATE devices SET generation = generation + 1 WHERE id = '${world.deviceId}'`
        )
        const answer = failureOf(await call(edge))
        assert.strictEqual((await within(edge.closed, 2_000, "the end")).code, 4409)
        edge = await LinkedEdge.link(hub.url, world)
        return answer
      }
      for (const call of calls) {
        let answer = await ofOlder(call)
        // The Hub happened to look first, and ended the link before it read the call.
        for (let again = 0; answer === "broken" && again < 3; again++) answer = await ofOlder(call)
        assert.strictEqual(answer, "conflict", String(call))
      }
      const { body } = await world.client.ask<Run>("GET", `/client/runs/${runId}`)
      assert.deepStrictEqual([body.state, body.lastSeq], ["running", 2])
    })

    it("audits two Edges with one key once, and allows one takeover per minute", async () => {
      const { edge: first, world } = await linked()
      const second = await LinkedEdge.link(hub.url, world)
      assert.strictEqual((await first.closed).code, 4409)
      const back = await LinkedEdge.link(hub.url, { ...world, instanceId: first.instanceId })
      assert.strictEqual((await second.closed).code, 4409)
      const again = await LinkedEdge.dial(hub.url, { ...world, instanceId: second.instanceId })
      await again.hello()
      assert.strictEqual(failureOf(await again.prove()), "conflict")
      assert.strictEqual((await again.closed).code, 4409)
      assert.strictEqual(failureOf(await back.heartbeat()), "taken")
      const audited = await statements.execute<{ readonly actor: string; readonly outcome: string }>(
        `SELECT actor, outcome FROM audit WHERE action = 'device.flapping' AND resource = '${world.deviceId}'`
      )
      assert.deepStrictEqual(audited, [{ actor: world.deviceId, outcome: "failed" }])
      await again.cut()
    })

    it("does not affect an Edge that restarts or reconnects", async () => {
      const { edge, world } = await linked()
      await edge.cut()
      const back = await LinkedEdge.link(hub.url, { ...world, instanceId: edge.instanceId })
      await back.cut()
      await LinkedEdge.link(hub.url, world)
      await LinkedEdge.link(hub.url, world)
      const audited = await statements.execute(
        `SELECT 1 FROM audit WHERE action = 'device.flapping' AND resource = '${world.deviceId}'`
      )
      assert.lengthOf(audited, 0)
    })
  })

  describe("presence", () => {
    it("ends with the lease, returns with a heartbeat, and survives a cut link", async () => {
      const { edge, world } = await linked()
      await statements.execute(
        `UPDATE devices SET lease_until = now() - interval '1 second' WHERE id = '${world.deviceId}'`
      )
      assert.strictEqual(await stateOf(world), "offline")
      await until("the sweep", async () => {
        const [row] = await statements.execute<{ readonly lease_until: Date | null }>(
          `SELECT lease_until FROM devices WHERE id = '${world.deviceId}'`
        )
        return row?.lease_until === null
      })
      await edge.heartbeat()
      assert.strictEqual(await stateOf(world), "online")
      await edge.cut()
      assert.strictEqual(await stateOf(world), "online")
    })

    it("ends within a second of a revocation or removal, and open commands are refused", async () => {
      for (const end of ["revoked", "removed"]) {
        const { edge, world } = await linked(() => undefined)
        const path = `/client/devices/${world.deviceId}`
        const mirror = new Mirror(hub, world.deviceId)
        const runId = await mirror.run(world.projectId, createdRun, runStarted)
        const cancelled = world.client.ask("POST", `/client/runs/${runId}/cancel`)
        await edge.count(1)
        await (end === "removed"
          ? world.client.ask("DELETE", path)
          : world.client.ask("PATCH", path, { body: { state: "revoked" } }))
        assert.strictEqual((await within(edge.closed, 1_000, "the end of the link")).code, 4401)
        const answer = await cancelled
        assert.deepStrictEqual([answer.status, codeOf(answer)], [503, "target_offline"], end)
        if (end === "revoked") assert.strictEqual(await stateOf(world), "revoked")
      }
    })
  })

  describe("commands", () => {
    it("are sent again over the next link until they are answered, under one id", async () => {
      const { edge, world } = await linked()
      const runId = await running(world, edge)
      edge.answers = () => undefined
      const cancelled = world.client.ask<Run>("POST", `/client/runs/${runId}/cancel`)
      const [, first] = await edge.count(2)
      await edge.cut()
      const back = await LinkedEdge.link(hub.url, {
        ...world,
        instanceId: edge.instanceId,
        answers: (command) => {
          const start = taken(edge.commands[0] ?? command)
          return start?._tag === "Done"
            ? { _tag: "Done", value: { ...(start.value as Run), state: "cancelled" } }
            : undefined
        }
      })
      const answer = await cancelled
      assert.deepStrictEqual([answer.status, answer.body.state], [200, "cancelled"], answer.text)
      assert.deepStrictEqual(
        back.commands.map(({ commandId }) => commandId),
        [first?.commandId]
      )
      assert.strictEqual(first?.requestId, answer.headers.get("x-request-id"))
    })

    it("are stored as sent by the Hub that holds the link, unless another Hub has a newer one", async () => {
      const { edge, world } = await linked()
      const runId = await running(world, edge)
      edge.answers = () => undefined
      const cancel = () => world.client.ask("POST", `/client/runs/${runId}/cancel`)
      const rows = () =>
        statements.execute<{ readonly generation: bigint | null; readonly direct: boolean | null }>(
          `SELECT generation, sent_at = created_at AS direct FROM edge_commands
          WHERE target_id = '${world.deviceId}' AND id LIKE 'cmd%' ORDER BY seq`
        )
      const first = cancel()
      await edge.count(2)
      assert.deepStrictEqual(await rows(), [{ generation: BigInt(edge.generation), direct: true }])
      // As the Hub of a newer link does.
      await statements.execute(
        `UPDATE devices SET generation = generation + 1 WHERE id = '${world.deviceId}'`
      )
      const second = cancel()
      await until("the second command", async () => (await rows()).length === 2)
      assert.deepStrictEqual((await rows())[1], { generation: null, direct: null })
      assert.strictEqual(edge.commands.length, 2)
      await world.client.ask("PATCH", `/client/devices/${world.deviceId}`, { body: { state: "revoked" } })
      assert.deepStrictEqual((await Promise.all([first, second])).map(codeOf), [
        "target_offline",
        "target_offline"
      ])
    })

    it("are withdrawn if they were not sent in time, and unknown if they were sent without an answer", async () => {
      const { edge, world } = await linked(() => undefined)
      const runId = newId<RunId>("run")
      const ask = (answerTimeoutMs: number, id?: CommandId) =>
        hub.people.act(
          Effect.flatMap(Commands, (commands) =>
            commands.send({
              ...(id === undefined ? {} : { id }),
              targetId: world.deviceId,
              name: "CancelRun",
              payload: { runId, by: "someone" },
              answerTimeoutMs
            })
          )
        )
      const unknown = ask(5_000)
      await edge.count(1)
      assert.deepStrictEqual(await unknown, { _tag: "Unknown" })
      await edge.cut()
      // Its lease lives on: it may come back. Until the Hub has seen the cut, it sends.
      await until("offline device", async () => (await ask(300))._tag === "NotSent")
      const waiting = await statements.execute<{ readonly n: number }>(
        `SELECT count(*)::int AS n FROM edge_commands WHERE target_id = '${world.deviceId}' AND generation IS NULL`
      )
      assert.deepStrictEqual(waiting, [{ n: 0 }])
      await statements.execute(`UPDATE devices SET lease_until = NULL WHERE id = '${world.deviceId}'`)
      assert.deepStrictEqual(await ask(20_000), { _tag: "NotSent" })
    })

    /** A command that waits for its device as long as it takes, from another Hub. */
    const durable = (world: World) => ({
      id: newId<CommandId>("cmd"),
      targetId: world.deviceId,
      name: "CancelRun" as const,
      payload: { runId: newId<RunId>("run"), by: "someone" },
      isDurable: true,
      answerTimeoutMs: 20_000
    })
    const LOCK_COMMANDS = "LOCK TABLE edge_commands IN SHARE MODE"
    const atOtherHub = <A, E>(use: (commands: Commands["Service"]) => Effect.Effect<A, E>) =>
      hub.people.act(Effect.flatMap(Commands, use))

    it("reach the Hub that holds the link, also from a Hub that stops while it writes them", async () => {
      const { edge, world } = await linked()
      await atOtherHub((commands) => statements.interruptDuring(LOCK_COMMANDS, commands.send(durable(world))))
      await edge.count(1)
    })

    it("are sent by the Hub that stores them as sent, also when their caller leaves meanwhile", async () => {
      const { edge, world } = await linked()
      const offered: Array<EdgeCommand> = []
      const link = { deviceId: world.deviceId, generation: edge.generation }
      await atOtherHub((commands) =>
        Effect.scoped(
          Effect.gen(function* () {
            yield* commands.openStream({
              link,
              isIdle: () => true,
              offer: (command) => void offered.push(command)
            })
            yield* statements.interruptDuring(LOCK_COMMANDS, commands.send(durable(world)))
          })
        )
      )
      assert.strictEqual(offered.length, 1)
    })

    it("that are requested again wake the Hub that holds the link again: the notice may have been lost", async () => {
      const { edge, world } = await linked()
      await running(world, edge)
      const command = durable(world)
      const { id, name, payload, targetId } = command
      const text = JSON.stringify({ name, commandId: id, payload })
      // As another Hub that crashes before it sends the notice.
      await statements.execute(
        `INSERT INTO edge_commands (id, target_id, command, created_at) VALUES ('${id}', '${targetId}', '${text}', now())`
      )
      const answered = atOtherHub((commands) => commands.send(command))
      await edge.count(2)
      await edge.done(
        { name, commandId: id, payload },
        { _tag: "Refused", error: { code: "conflict", message: "x" } }
      )
      assert.strictEqual((await answered)._tag, "Answered")
    })

    it("pass on a refusal of the Edge, and fail as internal on an invalid answer", async () => {
      const approvalId = newId<ApprovalId>("apr")
      const { edge, world } = await linked()
      const runId = await running(world, edge)
      await edge.push(runId, 3, linesOf(runId, 3, [approvalRequested(approvalId)]))
      edge.answers = () => ({
        _tag: "Refused",
        error: { code: "approval_already_resolved", message: "x", details: { approvalId, state: "denied" } }
      })
      const answer = await world.client.ask("POST", `/client/approvals/${approvalId}/decide`, {
        body: { decision: "allow" }
      })
      assert.deepStrictEqual([answer.status, codeOf(answer)], [409, "approval_already_resolved"])
      // An invalid answer is an internal error, not the caller's.
      edge.answers = () => ({ _tag: "Done", value: { anything: true } })
      const broken = await world.client.ask("POST", `/client/approvals/${approvalId}/decide`, {
        body: { decision: "allow" }
      })
      assert.deepStrictEqual([broken.status, codeOf(broken)], [500, "internal"])
    })

    it("are not sent to an Edge that does not support them", async () => {
      const { edge, world } = await linked()
      const runId = await running(world, edge)
      const previewId = newId<PreviewId>("prv")
      const opened = openedPreviewOf(previewId, runId, "demo")
      edge.answers = () => ({ _tag: "Done", value: opened })
      const open = () => world.client.ask("POST", `/client/runs/${runId}/previews/${previewId}/open`)
      const before = edge.commands.length
      const old = await open()
      assert.deepStrictEqual([old.status, codeOf(old)], [409, "conflict"], old.text)
      assert.lengthOf(edge.commands, before)

      await edge.heartbeat({ ...offer, commands: ["OpenPreview"] })
      const answer = await open()
      assert.deepStrictEqual([answer.status, answer.body], [200, opened], answer.text)
      assert.deepInclude(edge.commands.at(-1), { name: "OpenPreview", payload: { runId, previewId } })
      // Deleted after the answer, within a second.
      await until(
        "that no address is kept",
        async () =>
          (await statements.execute(`SELECT 1 FROM edge_commands WHERE command LIKE '%${previewId}%'`))
            .length === 0
      )

      edge.answers = () => ({ _tag: "Refused", error: { code: "not_found", message: "x" } })
      const closed = await open()
      assert.deepStrictEqual([closed.status, codeOf(closed)], [404, "not_found"])
      assert.deepInclude(closed.body, { message: "The preview is closed." })
      edge.answers = () => ({ _tag: "Done", value: { ...opened, url: "https://hub.example/" } })
      assert.strictEqual((await open()).status, 500)
    })
  })

  describe("pauses", () => {
    it("are sent to the Edge of the run, which may refuse them with a reason", async () => {
      const { edge, world } = await linked()
      const runId = await running(world, edge)
      const started = taken(edge.commands[0] ?? assert.fail("no start"))
      assert(started?._tag === "Done")
      const ask = (change: string) =>
        world.client.ask<Record<string, unknown>>("POST", `/client/runs/${runId}/${change}`)
      const before = edge.commands.length
      const old = await ask("pause")
      assert.deepStrictEqual([old.status, codeOf(old)], [409, "conflict"], old.text)
      assert.deepInclude(old.body, { details: { reason: "edge_outdated" } })
      assert.lengthOf(edge.commands, before)

      await edge.heartbeat({ ...offer, commands: ["PauseRun", "ResumeRun"] })
      const run = { ...(started.value as Run), state: "running" as const }
      edge.answers = () => ({ _tag: "Done", value: { ...run, paused: true } })
      const paused = await ask("pause")
      assert.strictEqual(paused.status, 200, paused.text)
      assert.deepInclude(paused.body, { id: runId, state: "running", paused: true, lastSeq: 2 })
      assert.strictEqual(edge.commands.at(-1)?.name, "PauseRun")
      assert.deepStrictEqual(edge.commands.at(-1)?.payload, { runId, by: world.client.userId })
      edge.answers = () => ({ _tag: "Done", value: run })
      const resumed = await ask("resume")
      assert.notProperty(resumed.body, "paused")
      assert.deepInclude(edge.commands.at(-1), { name: "ResumeRun" })

      const details = { reason: "no_control_group" }
      edge.answers = () => ({ _tag: "Refused", error: { code: "conflict", message: "It can't.", details } })
      const refused = await ask("pause")
      assert.deepStrictEqual([refused.status, codeOf(refused)], [409, "conflict"])
      assert.deepInclude(refused.body, { message: "It can't.", details })
      const trail = await statements.execute(
        `SELECT action, outcome FROM audit WHERE resource = '${runId}' ORDER BY seq`
      )
      assert.deepInclude(trail, { action: "run.pause", outcome: "allowed" })
    })
  })

  describe("tasks", () => {
    it("are sent over the link and follow their runs", async () => {
      const { edge, world } = await linked()
      const { body, status } = await makeTask(world)
      assert.deepStrictEqual([status, body.state], [201, "pending"])
      const { runId } = await untilTask(world, body.id, "dispatched")
      assert.isDefined(runId)
      assert.strictEqual(edge.commands[0]?.commandId, `start.${runId}`)
      await edge.push(runId, 1, linesOf(runId, 1, [createdRun, runStarted]))
      await untilTask(world, body.id, "running")
      await edge.push(runId, 3, linesOf(runId, 3, [messageDelta("hi"), runCompleted]))
      await untilTask(world, body.id, "completed")
    })

    it("wait for their device and start when it comes online", async () => {
      const world = await worldOf(hub)
      const refused = await makeTask(world)
      assert.deepStrictEqual([refused.status, codeOf(refused)], [503, "target_offline"])
      const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
      const first = await makeTask(world, { onOffline: "queue" }, { traceparent })
      const second = await makeTask(world, { onOffline: "queue" })
      assert.strictEqual(first.body.state, "queued")
      const edge = await LinkedEdge.link(hub.url, world)
      const one = await untilTask(world, first.body.id, "dispatched")
      const two = await untilTask(world, second.body.id, "dispatched")
      assert.deepStrictEqual(
        edge.commands.map(({ commandId }) => commandId),
        [`start.${one.runId}`, `start.${two.runId}`]
      )
      // Each is of the trace of the request that made it.
      assert.deepStrictEqual(
        edge.commands.map((command) => command.traceparent),
        [traceparent, undefined]
      )
      await edge.leave()
      await until("the device offline", async () => (await stateOf(world)) === "offline")
      const { body } = await makeTask(world)
      const { details } = body as unknown as { readonly details: { readonly lastSeenAt?: string } }
      assert.isString(details.lastSeenAt)
    })

    it("are refused without being stored if the target does not offer them", async () => {
      const { world } = await linked()
      for (const [more, status, code] of [
        [{ agentId: "unknown" }, 400, "invalid_agent_id"],
        [{ agentId: "missing" }, 503, "runtime_unavailable"],
        [{ workspace: "elsewhere" }, 403, "workspace_outside_allowlist"]
      ] as const) {
        const answer = await makeTask(world, more)
        assert.deepStrictEqual([answer.status, codeOf(answer)], [status, code])
      }
    })

    it("fail with the reason of the Edge if it refuses the start", async () => {
      const { world } = await linked(() => ({
        _tag: "Refused",
        error: { code: "overloaded", message: "Too many runs." }
      }))
      const { body } = await makeTask(world)
      const failed = await untilTask(world, body.id, "failed")
      assert.deepStrictEqual([failed.error?.code, failed.runId], ["overloaded", undefined])
    })

    it("are not sent after they were withdrawn", async () => {
      const { edge, world } = await linked()
      const runId = newId<RunId>("run")
      const payload = { runId, create: createRun }
      const response = await hub.people.act(
        Effect.flatMap(Commands, (commands) =>
          commands.send({
            id: startCommandId(runId),
            requiredRun: runId,
            targetId: world.deviceId,
            name: "StartRun",
            payload,
            answerTimeoutMs: 5_000
          })
        )
      )
      assert.deepStrictEqual(response, { _tag: "NotSent" })
      assert.lengthOf(edge.commands, 0)
    })

    it("stay pending without an answer until the next link reports them, and start once", async () => {
      const { edge, world } = await linked(() => undefined)
      const { body } = await makeTask(world)
      await edge.count(1)
      await edge.cut()
      const back = await LinkedEdge.link(hub.url, { ...world, instanceId: edge.instanceId })
      const { runId } = await untilTask(world, body.id, "dispatched")
      assert.deepStrictEqual(
        [...edge.commands, ...back.commands].map(({ commandId }) => commandId),
        [`start.${runId}`, `start.${runId}`]
      )
    })
  })

  describe("unanswered starts", () => {
    const silent = async (more: Record<string, unknown> = {}) => {
      const { edge, world } = await linked(() => undefined)
      const { body } = await makeTask(world, more)
      await edge.count(1)
      return { edge, world, task: body, age: () => statements.execute(AGED.replace("?", body.id)) }
    }
    const AGED = `UPDATE edge_commands SET sent_at = sent_at - interval '2 minutes'
      WHERE id = (SELECT 'start.' || run_id FROM tasks WHERE id = '?')`

    it.each(["fail", "queue"])(
      "end their task with a clear error, and are not sent again: %s",
      async (onOffline) => {
        const { age, edge, task, world } = await silent({ onOffline })
        await age()
        const failed = await untilTask(world, task.id, "failed")
        assert.strictEqual(failed.error?.code, "target_offline")
        assert.include(failed.error?.message ?? "", "did not answer")
        const run = await world.client.ask<{ readonly state: string }>("GET", `/client/runs/${failed.runId}`)
        assert.strictEqual(run.body.state, "failed")
        await edge.cut()
        const back = await LinkedEdge.link(hub.url, { ...world, instanceId: edge.instanceId })
        // A later command is the first that comes over the new link.
        const { body } = await makeTask(world)
        await untilTask(world, body.id, "dispatched")
        assert.deepStrictEqual(
          back.commands.map(({ name }) => name),
          ["StartRun"]
        )
      }
    )

    it("continue when events of the run arrive after all", async () => {
      const { age, edge, task, world } = await silent()
      await age()
      const { runId } = await untilTask(world, task.id, "failed")
      assert.isDefined(runId)
      assert.strictEqual(
        failureOf(await edge.push(runId, 1, linesOf(runId, 1, [createdRun, runStarted]))),
        "taken"
      )
      const running = await untilTask(world, task.id, "running")
      assert.deepStrictEqual([running.error, running.runId], [undefined, runId])
    })
  })

  describe("pushes", () => {
    it("are stored in order and once", async () => {
      const { edge, world } = await linked()
      const runId = await running(world, edge)
      const pushes = [3, 5, 7, 9].map((seq) =>
        edge.push(runId, seq, linesOf(runId, seq, [messageDelta("a"), messageDelta("b")]))
      )
      assert.deepStrictEqual(
        (await Promise.all(pushes)).map((answer) => Result.isSuccess(answer) && answer.success[0]?.refused),
        [undefined, undefined, undefined, undefined]
      )
      assert.deepStrictEqual(
        await edge.push(runId, 9, linesOf(runId, 9, [messageDelta("a")])),
        Result.succeed([{ runId, seq: 10 }])
      )
      assert.deepStrictEqual(
        await edge.push(runId, 12, linesOf(runId, 12, [messageDelta("a")])),
        Result.succeed([{ runId, seq: 10, refused: "conflict" as const }])
      )
      assert.deepStrictEqual(
        await edge.push(runId, 11, ["{}"]),
        Result.succeed([{ runId, seq: 10, refused: "schema_validation_failed" as const }])
      )
      assert.deepStrictEqual(await edge.acks(runId), Result.succeed([{ runId, seq: 10 }]))
    })

    it("of another device's run are refused like those of an unknown run, and audited once a minute", async () => {
      const { edge, world } = await linked()
      const runId = await running(world, edge)
      const { edge: other, world: elsewhere } = await linked()
      const nothing = newId<RunId>("run")
      for (const id of [nothing, runId, runId])
        assert.deepStrictEqual(
          await other.push(id, 3, linesOf(id, 3, [runCompleted])),
          Result.succeed([{ runId: id, seq: 0, refused: "permission_denied" as const }])
        )
      const audited = await statements.execute<{
        readonly actor: string
        readonly chain: ProjectId
        readonly outcome: string
      }>(`SELECT actor, chain, outcome FROM audit WHERE action = 'run.push' AND resource = '${runId}'`)
      assert.deepStrictEqual(audited, [
        { actor: elsewhere.deviceId, chain: world.projectId, outcome: "denied" }
      ])
      const { body } = await world.client.ask<Run>("GET", `/client/runs/${runId}`)
      assert.strictEqual(body.state, "running")
    })

    /** Pushes of three links in one transaction: a push of a fourth link waits for a locked row meanwhile. */
    const together = async (
      change: (worlds: ReadonlyArray<World>, runIds: ReadonlyArray<RunId>) => Promise<unknown>
    ): Promise<ReadonlyArray<string>> => {
      const links = []
      for (let i = 0; i < 4; i++) {
        const { edge, world } = await linked()
        links.push({ edge, world, runId: await running(world, edge) })
      }
      const [first, ...others] = links
      assert.isDefined(first)
      const release = await statements.hold(`SELECT 1 FROM runs WHERE id = '${first.runId}' FOR UPDATE`)
      const push = ({ edge, runId }: typeof first) =>
        edge.push(runId, 3, linesOf(runId, 3, [messageDelta("a")]))
      const pushes = [push(first)]
      await statements.untilOneWaits()
      pushes.push(...others.map(push))
      await change(
        others.map(({ world }) => world),
        others.map(({ runId }) => runId)
      )
      // Any later call of the links is answered after their pushes have been queued.
      for (const { edge } of others) await edge.readAttachment(first.runId, newId("att"), 0)
      await release()
      const answers = (await Promise.allSettled(pushes)).map((settled) =>
        settled.status === "fulfilled" ? failureOf(settled.value) : "defect"
      )
      // A statement waits for two seconds. On a busy machine the row was held for longer.
      return answers[0] === "taken" ? answers : together(change)
    }

    it("of a fenced link fail alone in their transaction", async () => {
      const answers = await together(([, fenced]) =>
        statements.execute(`UPDATE devices SET generation = generation + 1 WHERE id = '${fenced?.deviceId}'`)
      )
      assert.deepStrictEqual(answers, ["taken", "taken", "conflict", "taken"])
    })

    it("fail no push of another link when a row is damaged", async () => {
      const answers = await together((_, [, damaged]) =>
        statements.execute(`UPDATE runs SET told = '{', last_seq = 1 WHERE id = '${damaged}'`)
      )
      assert.deepStrictEqual(answers, ["taken", "taken", "defect", "taken"])
    })

    it("of many links at once are stored in order and once", async () => {
      const links = []
      for (let i = 0; i < 5; i++) {
        const { edge, world } = await linked()
        links.push({ edge, runId: await running(world, edge) })
      }
      const words = (seq: number) => [messageDelta(`${seq}`), messageDelta(`${seq + 1}`)]
      await Promise.all(
        links.map(async ({ edge, runId }) => {
          for (let seq = 3; seq < 43; seq += 8) {
            const pushes = [seq, seq + 2, seq + 4, seq + 6].map((from) =>
              edge.push(runId, from, linesOf(runId, from, words(from)))
            )
            const answers = (await Promise.all(pushes)).map(failureOf)
            assert.deepStrictEqual(answers, ["taken", "taken", "taken", "taken"])
          }
        })
      )
      for (const { runId } of links) {
        const stored = await statements.execute<{ readonly log: string }>(
          `SELECT string_agg(lines, E'\n' ORDER BY last_seq) AS log FROM run_events WHERE run_id = '${runId}'`
        )
        const words = Array.from({ length: 40 }, (_, i) => messageDelta(`${i + 3}`))
        assert.strictEqual(stored[0]?.log, linesOf(runId, 1, [createdRun, runStarted, ...words]).join("\n"))
      }
    })

    it("are limited by the window", async () => {
      const { edge, world } = await linked()
      const runId = await running(world, edge)
      const big = messageDelta("x".repeat(100_000))
      const pushes = Array.from({ length: 40 }, (_, i) =>
        edge.push(runId, 3 + i, linesOf(runId, 3 + i, [big]))
      )
      assert.strictEqual((await within(edge.closed, 10_000, "the end of the link")).code, 1008)
      await Promise.all(pushes)
    })
  })
})
