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
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { type SimulatedDevice, SimulatedLink } from "@corral/testing/edge/SimulatedLink"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { WebSocket } from "ws"
import { benchLineOf } from "../hub/EventLine.ts"
import { quantile } from "../Statistics.ts"

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

const bareLink = async (): Promise<Link> => {
  const socket = new WebSocket(`${url.replace("http", "ws")}?gathered=1`, { perMessageDeflate: false })
  await once(socket, "open")
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

const hubLink = async (device: SimulatedDevice): Promise<Link> => {
  const link = await SimulatedLink.open(url, device)
  return {
    push: async (runId, seq) => {
      const acknowledged = await link.push(runId, seq, [lineOf(runId, seq)])
      if (acknowledged !== seq) throw new Error(`${seq} of ${runId} was not taken, but ${acknowledged}`)
    }
  }
}

/** Links that are made side by side. */
const AT_ONCE = 16

const connect = async (devices: ReadonlyArray<SimulatedDevice>): Promise<object> => {
  const left = [...devices]
  const connectNext = async (): Promise<void> => {
    for (let device = left.pop(); device !== undefined; device = left.pop())
      links.set(device.deviceId, await (kind === "bare" ? bareLink() : hubLink(device)))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, connectNext))
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
