/**
 * Frames that no honest Edge sends, from a seed: valid ones cut, repeated, reordered, with a wrong generation, of unknown kinds, deep, large,
 * or of another device.
 */
import type { DeviceId, RunId } from "@corral/domain/identity/Ids"
import { LINK_VERSION } from "@corral/domain/link/EdgeLink"
import { randomUUID } from "node:crypto"
import { linesOf, createdRun, messageDelta, runStarted } from "@corral/testing/hub/Mirror"
import { offer } from "../harness/LinkedEdge.ts"

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export const seeded = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

export interface KnownIds {
  readonly deviceId: DeviceId
  readonly foreignDevice: DeviceId
  readonly runId: RunId
  readonly foreignRun: RunId
}

export class HostileFrames {
  private readonly next: () => number
  private readonly ids: KnownIds
  /** Generation of the link that sends the frames, which most of them have. */
  generation: number | undefined
  private last = ""
  private id = 1_000_000

  constructor(seed: number, ids: KnownIds) {
    this.next = seeded(seed)
    this.ids = ids
  }

  /** The next frame. */
  frame(): string {
    const frame = this.mutated(this.request())
    this.last = frame
    return frame
  }

  private pick<A>(of: readonly [A, ...Array<A>]): A {
    return of[Math.floor(this.next() * of.length)] ?? of[0]
  }

  private generationOrOther(): unknown {
    return this.generation !== undefined && this.next() < 0.9 ? this.generation : this.number()
  }

  private number(): unknown {
    return this.pick([0, 1, 2, 3, -1, 1.5, 2 ** 31, Number.MAX_SAFE_INTEGER, 1e308, "1", null, true, [], {}])
  }

  private text(): unknown {
    return this.pick([
      "",
      "x",
      "\u0000",
      "\ud800",
      "__proto__",
      "x".repeat(2_000),
      7,
      null,
      ["x"],
      { toString: 1 }
    ])
  }

  private payload(tag: string): unknown {
    const { deviceId, foreignDevice, foreignRun, runId } = this.ids
    const device = this.pick<unknown>([deviceId, foreignDevice, this.text()])
    const run = this.pick<unknown>([runId, foreignRun, "run_01K00000000000000000000000", this.text()])
    const generation = this.generationOrOther()
    const events = this.pick<unknown>([
      linesOf(foreignRun, 1, [createdRun, runStarted]),
      linesOf(runId, 3, [messageDelta("x")]).map((line) => line.slice(0, -1)),
      ["{}", "[]", "null", '{"a":'],
      Array.from({ length: 600 }, () => "{}"),
      this.text()
    ])
    switch (tag) {
      case "Hello":
        return {
          linkVersion: this.pick<unknown>([LINK_VERSION, 99, this.number()]),
          deviceId: device,
          instanceId: randomUUID()
        }
      case "Prove":
        return {
          deviceId: device,
          challenge: this.text(),
          signature: this.text(),
          offer: this.pick<unknown>([offer, {}, null])
        }
      case "Heartbeat":
        return {
          generation,
          offer: this.pick<unknown>([{ ...offer, workspaces: this.text() }, { version: "\u0000" }, 7])
        }
      case "Rotate":
        return { generation, publicKey: this.text(), signature: this.text() }
      case "Acks":
        return { generation, runIds: [run, run] }
      case "CommandDone":
        return {
          generation,
          commandId: this.text(),
          outcome: this.pick<unknown>([{ _tag: "Done" }, { _tag: "x" }, 1])
        }
      case "PushEvents":
        return { generation, batches: [{ runId: run, firstSeq: this.number(), events }] }
      case "PushChanges":
        return {
          generation,
          sets: [
            { id: this.text(), set: this.pick<unknown>([JSON.stringify({ runId: run }), this.text(), 1]) }
          ]
        }
      default:
        return this.text()
    }
  }

  private request(): string {
    const tag = this.pick([
      "Hello",
      "Prove",
      "Heartbeat",
      "Rotate",
      "Acks",
      "CommandDone",
      "PushEvents",
      "PushChanges",
      "Commands",
      "Unknown",
      "constructor"
    ])
    const id = this.pick<unknown>([String(this.id++), "0", -1, "\u0000"])
    // After `Eof` nothing is read: a link that sends one early tests nothing else.
    const kind =
      this.next() < 0.9
        ? "Request"
        : this.next() < 0.02
          ? "Eof"
          : this.pick(["Ack", "Interrupt", "Ping", "Exit", "x"])
    return JSON.stringify({ _tag: kind, id, requestId: id, tag, payload: this.payload(tag), headers: [] })
  }

  private mutated(frame: string): string {
    const how = this.next()
    if (how < 0.5) return frame
    if (how < 0.6) return frame.slice(0, Math.floor(this.next() * frame.length))
    if (how < 0.68) return this.last
    if (how < 0.74) return `[${frame},${frame}]`
    if (how < 0.8) return frame.split("").toReversed().join("")
    if (how < 0.84) return `${"[".repeat(5_000)}${frame}${"]".repeat(5_000)}`
    if (how < 0.88) return `{"a":`.repeat(5_000)
    if (how < 0.9) return JSON.stringify("x".repeat(300_000))
    const at = Math.floor(this.next() * frame.length)
    return `${frame.slice(0, at)}${String.fromCharCode(Math.floor(this.next() * 0xffff))}${frame.slice(at + 1)}`
  }
}
