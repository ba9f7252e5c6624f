/**
 * Many Edges in one process, as far as a Hub can tell: each with its own key and its own link, offering nothing and doing nothing but what
 * is asked of them on stdin, a JSON line each:
 *
 *   {"connect": [{"deviceId","privateKey"}]}     links them; answers {"connected": n}
 *   {"push": [{"deviceId","runId","count"}]}     pushes that many events of each run, and answers {"pushed": n, "ms": t} when all are acknowledged
 */
import {
  EdgeLink,
  LINK_PATH,
  LINK_VERSION,
  MAX_PUSH_EVENTS,
  MAX_PUSHES_IN_FLIGHT
} from "@corral/domain/link/EdgeLink"
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { simulatedProof, type SimulatedDevice } from "@corral/testing/edge/SimulatedLink"
import { NodeWS } from "@effect/platform-node"
import { Deferred, Effect, Layer, Schedule, Stream } from "effect"
import { RpcClient, type RpcClientError, RpcSerialization } from "effect/rpc"
import { Socket } from "effect/socket"
import { createInterface } from "node:readline"
import { benchLineOf } from "../hub/EventLine.ts"

interface Pushing {
  readonly deviceId: DeviceId
  readonly runId: RunId
  readonly count: number
}

type Client = RpcClient.FromGroup<typeof EdgeLink, RpcClientError.RpcClientError>

const hub = process.argv[2] ?? ""
const address = `${hub.replace("http", "ws")}${LINK_PATH}`
const links = new Map<DeviceId, { readonly client: Client; readonly generation: number }>()

const print = (send: object): void => void process.stdout.write(`${JSON.stringify(send)}\n`)

/** Characters of text: an envelope of about 320 bytes. */
const TEXT = "x".repeat(100)

/** Holds the link while the program runs. Calls `linked` when the link is up. */
const hold = (device: SimulatedDevice, linked: Deferred.Deferred<void>) =>
  Effect.gen(function* () {
    const { deviceId } = device
    const client = yield* RpcClient.make(EdgeLink)
    const hello = yield* client.Hello({ linkVersion: LINK_VERSION, deviceId, instanceId: deviceId })
    const { generation, heartbeatSeconds } = yield* client.Prove(simulatedProof(device, hello))
    links.set(deviceId, { client, generation })
    yield* Effect.forkScoped(Stream.runDrain(client.Commands({ generation })))
    yield* Deferred.succeed(linked, undefined)
    yield* Effect.repeat(client.Heartbeat({ generation }), Schedule.spaced(`${heartbeatSeconds} seconds`))
  }).pipe(
    Effect.provide(
      RpcClient.layerProtocolSocket({ pingInterval: "10 seconds", pingTimeout: "20 seconds" }).pipe(
        Layer.provide([
          RpcSerialization.layerJson,
          Layer.effect(Socket.Socket, Socket.makeWebSocket(address)).pipe(
            Layer.provide(NodeWS.layerWebSocketConstructor)
          )
        ])
      )
    ),
    Effect.scoped
  )

const connect = Effect.fnUntraced(function* (devices: ReadonlyArray<SimulatedDevice>) {
  yield* Effect.forEach(
    devices,
    Effect.fnUntraced(function* (device) {
      const linked = yield* Deferred.make<void>()
      yield* Effect.forkDetach(Effect.tapCause(hold(device, linked), Effect.logError))
      yield* Deferred.await(linked)
    }),
    { concurrency: 16, discard: true }
  )
  print({ connected: devices.length })
})

/** The events of a run in pushes, made before the clock starts. */
const pushesOf = ({ count, runId }: Pushing) =>
  Array.from({ length: Math.ceil(count / MAX_PUSH_EVENTS) }, (_, push) => {
    const firstSeq = 2 + push * MAX_PUSH_EVENTS
    const size = Math.min(MAX_PUSH_EVENTS, count - push * MAX_PUSH_EVENTS)
    const events = Array.from({ length: size }, (__, i) =>
      benchLineOf(runId, firstSeq + i, "run.message.delta", { messageId: "m1", channel: "text", text: TEXT })
    )
    return { runId, firstSeq, events }
  })

const push = Effect.fnUntraced(function* (pushes: ReadonlyArray<Pushing>) {
  const prepared = pushes.map((pushing) => ({ ...pushing, batches: pushesOf(pushing) }))
  const begin = performance.now()
  yield* Effect.forEach(
    prepared,
    Effect.fnUntraced(function* ({ batches, count, deviceId }) {
      const link = links.get(deviceId)
      if (link === undefined) return yield* Effect.die(`no link of ${deviceId}`)
      const acks = yield* Effect.forEach(
        batches,
        (batch) => link.client.PushEvents({ generation: link.generation, batches: [batch] }),
        { concurrency: MAX_PUSHES_IN_FLIGHT }
      )
      const last = Math.max(...acks.flat().map(({ seq }) => seq))
      if (last !== count + 1) return yield* Effect.die(`${last} of ${count + 1} events were taken`)
    }),
    { concurrency: "unbounded", discard: true }
  )
  print({ pushed: pushes.reduce((sum, { count }) => sum + count, 0), ms: performance.now() - begin })
})

createInterface({ input: process.stdin }).on("line", (line) => {
  const command = JSON.parse(line) as {
    readonly connect?: ReadonlyArray<SimulatedDevice>
    readonly push?: ReadonlyArray<Pushing>
  }
  const work = command.connect === undefined ? push(command.push ?? []) : connect(command.connect)
  Effect.runFork(Effect.tapCause(work, Effect.logError))
})
