/**
 * Many links that push one event after another, with little work of their own: frames of the link are written by hand. Commands on stdin, a
 * JSON line each:
 *
 *   {"connect": [{"deviceId","privateKey"}]}                     links them; answers {"connected": n}
 *   {"push": [{"deviceId","runId","firstSeq"}], "millis": n}     each link pushes one event, waits for its acknowledgement and pushes the next;
 *                                                                answers {"pushed", "ms", "p50", "p99"}
 *
 * Arguments: URL, and `hub` or `bare` for the bare program.
 */
import { LINK_PATH, LINK_VERSION } from "@corral/domain/link/EdgeLink"
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { createInterface } from "node:readline"
import { WebSocket } from "ws"
import { benchLineOf } from "../hub/EventLine.ts"
import { quantile } from "../Statistics.ts"
import { simulatedProof, type SimulatedDevice } from "./SimulatedDevice.ts"

interface Pushing {
  readonly deviceId: DeviceId
  readonly runId: RunId
  readonly firstSeq: number
}

interface Link {
  readonly push: (runId: RunId, seq: number) => Promise<void>
}

const [url = "", kind = "hub"] = process.argv.slice(2)
const links = new Map<DeviceId, Link>()

const lineOf = (runId: RunId, seq: number): string =>
  benchLineOf(runId, seq, "run.message.delta", { messageId: "m1", channel: "text", text: "a few words" })

const open = async (path: string): Promise<WebSocket> => {
  const socket = new WebSocket(url.replace("http", "ws") + path, { perMessageDeflate: false })
  await new Promise((resolve, reject) => {
    socket.once("open", resolve)
    socket.once("error", reject)
  })
  return socket
}

const bareLink = async (): Promise<Link> => {
  const socket = await open("?gathered=1")
  let acknowledged: (seq: number) => void = () => undefined
  socket.on("message", (data: Buffer) => acknowledged(Number(data.toString())))
  return {
    push: async (runId, seq) => {
      const acked = new Promise<number>((resolve) => (acknowledged = resolve))
      socket.send(JSON.stringify({ runId, firstSeq: seq, events: [lineOf(runId, seq)] }))
      if ((await acked) !== seq) throw new Error(`${seq} of ${runId} was not taken`)
    }
  }
}

interface ExitFrame {
  readonly _tag: string
  readonly requestId: string
  readonly exit: { readonly _tag: string; readonly value: unknown }
}

const hubLink = async (device: SimulatedDevice): Promise<Link> => {
  const socket = await open(LINK_PATH)
  const calls = new Map<string, (value: unknown) => void>()
  let last = 0
  socket.on("message", (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as ExitFrame
    if (frame._tag !== "Exit") return
    if (frame.exit._tag !== "Success") throw new Error(`a call failed: ${data.toString()}`)
    calls.get(frame.requestId)?.(frame.exit.value)
    calls.delete(frame.requestId)
  })
  const call = <A>(tag: string, payload: object): Promise<A> => {
    const id = String(++last)
    const answer = new Promise<unknown>((resolve) => calls.set(id, resolve))
    socket.send(JSON.stringify({ _tag: "Request", id, tag, payload, headers: [] }))
    // Every Hub that is measured answers by its contract.
    return answer as Promise<A>
  }
  const hello = await call<{ readonly challenge: string; readonly hub: string }>("Hello", {
    linkVersion: LINK_VERSION,
    deviceId: device.deviceId,
    instanceId: device.deviceId
  })
  const { generation } = await call<{ readonly generation: number }>("Prove", simulatedProof(device, hello))
  return {
    push: async (runId, seq) => {
      const batches = [{ runId, firstSeq: seq, events: [lineOf(runId, seq)] }]
      const acks = await call<ReadonlyArray<{ readonly seq: number }>>("PushEvents", { generation, batches })
      if (acks[0]?.seq !== seq) throw new Error(`${seq} of ${runId} was not taken: ${JSON.stringify(acks)}`)
    }
  }
}

const connect = async (devices: ReadonlyArray<SimulatedDevice>): Promise<object> => {
  for (const device of devices)
    links.set(device.deviceId, await (kind === "bare" ? bareLink() : hubLink(device)))
  return { connected: devices.length }
}

const push = async (pushes: ReadonlyArray<Pushing>, millis: number): Promise<object> => {
  const latencies: Array<number> = []
  const begin = performance.now()
  await Promise.all(
    pushes.map(async ({ deviceId, firstSeq, runId }) => {
      const link = links.get(deviceId)
      if (link === undefined) throw new Error(`no link of ${deviceId}`)
      for (let seq = firstSeq; performance.now() - begin < millis; seq++) {
        const sent = performance.now()
        await link.push(runId, seq)
        latencies.push(performance.now() - sent)
      }
    })
  )
  const ms = performance.now() - begin
  return { pushed: latencies.length, ms, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const command = JSON.parse(line) as {
    readonly connect?: ReadonlyArray<SimulatedDevice>
    readonly push?: ReadonlyArray<Pushing>
    readonly millis?: number
  }
  const { connect: devices, millis = 0, push: pushes = [] } = command
  void (devices === undefined ? push(pushes, millis) : connect(devices)).then((answer) =>
    process.stdout.write(`${JSON.stringify(answer)}\n`)
  )
})
