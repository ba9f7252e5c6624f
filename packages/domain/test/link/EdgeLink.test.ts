import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema, Stream } from "effect"
import { RpcTest } from "effect/rpc"
import { EdgeCommand, edgeCommands, type CommandId } from "../../src/link/EdgeCommand.ts"
import { challengeText, EdgeLink, type EventBatch } from "../../src/link/EdgeLink.ts"
import { encodeUlid, type DeviceId, type RunId } from "../../src/identity/Ids.ts"

const ulid = encodeUlid(1_750_000_000_000, new Uint8Array(10))
const deviceId = `dev_${ulid}` as DeviceId
const runId = `run_${ulid}` as RunId
const commandId = "c1" as CommandId
const challenge = { challenge: "nonce", hub: "https://hub.example" }

/** A Hub that knows one device and has one command for it; `log` is what it was told. */
const hub = (log: Array<unknown>) =>
  EdgeLink.toLayer({
    Hello: () => Effect.succeed(challenge),
    Prove: ({ signature, deviceId }) =>
      signature === challengeText({ ...challenge, deviceId })
        ? Effect.succeed({ generation: 2, heartbeatSeconds: 15, accessSeconds: 900 })
        : Effect.fail({ code: "unauthorized" as const, message: "The signature is wrong." }),
    Rotate: () => Effect.void,
    Acks: ({ runIds }) => Effect.succeed(runIds.map((runId) => ({ runId, seq: 0 }))),
    Heartbeat: () => Effect.void,
    Commands: ({ generation }) =>
      generation < 2
        ? Stream.fail({ code: "conflict" as const, message: "A newer link has taken over." })
        : Stream.succeed({ name: "CancelRun" as const, commandId, payload: { runId, by: "usr_x" } }),
    CommandDone: ({ commandId, outcome }) => Effect.sync(() => void log.push([commandId, outcome])),
    ReadAttachment: () => Effect.succeed({ base64: "" }),
    PushEvents: ({ batches }) =>
      Effect.succeed(
        batches.map(({ runId, firstSeq, events }) => ({ runId, seq: firstSeq + events.length - 1 }))
      ),
    PushChanges: ({ sets }) => Effect.succeed(sets.map(({ id }) => ({ id })))
  })

const offer = { version: "0.1.0", workspaces: [], agents: [] }

describe("EdgeLink", () => {
  it.effect("goes from the challenge to commands and acknowledged events", () => {
    const log: Array<unknown> = []
    return Effect.gen(function* () {
      const link = yield* RpcTest.makeClient(EdgeLink)
      const hello = yield* link.Hello({ linkVersion: 1, deviceId, instanceId: "i1" })
      const signature = challengeText({ ...hello, deviceId })
      const { generation } = yield* link.Prove({ deviceId, challenge: hello.challenge, signature, offer })
      assert.deepStrictEqual(yield* link.Acks({ generation, runIds: [runId] }), [{ runId, seq: 0 }])

      const commands = yield* Stream.runCollect(link.Commands({ generation }))
      assert.deepStrictEqual(
        [...commands],
        [{ name: "CancelRun", commandId, payload: { runId, by: "usr_x" } }]
      )
      const outcome = { _tag: "Refused", error: { code: "not_found", message: "No such run." } } as const
      yield* link.CommandDone({ generation, commandId, outcome })
      assert.deepStrictEqual(log, [[commandId, outcome]])

      const batch: EventBatch = { runId, firstSeq: 1, events: ["{}", "{}"] }
      assert.deepStrictEqual(yield* link.PushEvents({ generation, batches: [batch] }), [{ runId, seq: 2 }])
    }).pipe(Effect.provide(hub(log)))
  })

  it.effect("refuses a wrong signature and fences an older generation", () =>
    Effect.gen(function* () {
      const link = yield* RpcTest.makeClient(EdgeLink)
      const proof = yield* Effect.flip(
        link.Prove({ deviceId, challenge: challenge.challenge, signature: "no", offer })
      )
      const fenced = yield* Effect.flip(Stream.runDrain(link.Commands({ generation: 1 })))
      assert.deepStrictEqual([proof.code, fenced.code], ["unauthorized", "conflict"])
    }).pipe(Effect.provide(hub([])))
  )
})

describe("EdgeCommand", () => {
  const codec = Schema.toCodecJson(EdgeCommand)
  const wire = Arbitrary.map(Arbitrary.schema(codec), (command) =>
    JSON.parse(JSON.stringify(Schema.encodeSync(codec)(command)))
  )

  it.prop("survives the wire", [wire], ([json]) => {
    assert.deepStrictEqual(Schema.encodeSync(codec)(Schema.decodeUnknownSync(codec)(json)), json)
  })

  it("has one member for each command", () => {
    assert.deepStrictEqual(
      EdgeCommand.members.map((member) => member.fields.name.literal),
      Object.keys(edgeCommands) as never
    )
  })
})

describe("challengeText", () => {
  const Text = Schema.String
  it.prop("differs wherever its parts differ", [Text, Text, Text, Text], ([hub, a, otherHub, b]) => {
    const same = hub === otherHub && a === b
    assert.strictEqual(
      challengeText({ hub, deviceId, challenge: a }) ===
        challengeText({ hub: otherHub, deviceId, challenge: b }),
      same
    )
  })
})
