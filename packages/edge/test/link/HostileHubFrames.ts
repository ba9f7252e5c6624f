/**
 * Frames of a Hub that no honest Hub sends, from a seed.
 *
 * Three kinds: commands that a Hub may send, often repeated; commands of the right shape that ask for too much; and frames after which a
 * link ends: cut, deep, large, of unknown types, or not commands.
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { mint } from "@corral/service/Identifiers"
import { MAX_FRAME_BYTES } from "@corral/domain/link/EdgeLink"
import type { Seeded } from "../harness/Seeded.ts"

/** Part of every prompt that must not run. */
export const FORBIDDEN = "forbidden-prompt"
/** Content of a file outside of the workspace. */
export const SECRET = "secret-outside-of-the-workspace"
/** A line that would look like one of the Edge's log. */
export const FORGED = "\ntimestamp=forged level=INFO message=forged"

export interface HostileHubTargets {
  /** Runs that the Hub may start. */
  readonly runs: readonly [RunId, ...ReadonlyArray<RunId>]
  /** A run of the Hub that waits for input. */
  readonly waiting: RunId
  /** A run of the Edge's owner. */
  readonly local: RunId
}

type Json = unknown

export const nested = (depth: number): Json => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`)

export class HostileHubFrames {
  private readonly seeded: Seeded
  private readonly targets: HostileHubTargets
  private ids = 0
  private last = ""

  constructor(seeded: Seeded, targets: HostileHubTargets) {
    this.seeded = seeded
    this.targets = targets
  }

  /** The next frame; `stream` is the id of the open stream of commands. */
  frame(stream: string | number): string {
    const how = this.seeded.whole(0, 999)
    const frame =
      how < 5
        ? this.fatal(stream)
        : how < 40
          ? this.ignored()
          : how < 100 && this.last !== ""
            ? this.last
            : this.chunk(
                stream,
                Array.from({ length: this.seeded.whole(1, 3) }, () => this.command())
              )
    if (how >= 40) this.last = frame
    return frame
  }

  /** What stands where a value belongs. */
  junk(): Json {
    return this.seeded.pick<Json>([
      null,
      true,
      "",
      FORGED,
      "x".repeat(100_000),
      0,
      -1,
      1.5,
      2 ** 31,
      Number.MAX_SAFE_INTEGER,
      1e300,
      [],
      {},
      { __proto__: null, constructor: 1 },
      nested(1_000)
    ])
  }

  private chunk(requestId: string | number, values: ReadonlyArray<Json>): string {
    return JSON.stringify({ _tag: "Chunk", requestId, values })
  }

  private command(): Json {
    return this.seeded.whole(0, 1) === 0 ? this.valid() : this.excessive()
  }

  private named(name: string, payload: Json, commandId = `c-${this.ids++}`): Json {
    const more = this.seeded.pick<object>([
      {},
      {},
      { requestId: this.seeded.pick(["req_1", FORGED, "x".repeat(10_000)]) },
      {
        traceparent: this.seeded.pick(["", FORGED, "00-1-1-01", `00-${"a".repeat(32)}-${"b".repeat(16)}-01`])
      }
    ])
    return { name, commandId, payload, ...more }
  }

  private create(more: object = {}): object {
    return { workspace: "ws", agentId: "scripted", mode: "ask", input: { text: "/say hello" }, ...more }
  }

  private valid(): Json {
    const { runs, waiting } = this.targets
    const runId = this.seeded.pick(runs)
    const n = this.seeded.whole(0, 39)
    switch (this.seeded.whole(0, 5)) {
      case 0:
        return this.named("StartRun", { runId, create: this.create() }, this.seeded.pick(["s-1", `s-${n}`]))
      case 1:
        return this.named(
          "SendInput",
          { runId: waiting, input: { text: `said-${n}.` }, by: "usr_a" },
          `in-${n}`
        )
      case 2:
        return this.named("CancelRun", { runId, by: "usr_a" })
      case 3:
        return n > 0
          ? this.named("ListFiles", { workspace: "ws", path: "" })
          : this.named(
              "SendInput",
              { runId: waiting, input: { text: "y".repeat(250_000) }, by: "usr_a" },
              "in-large"
            )
      case 4:
        return this.named("ListArtifacts", { runId })
      default:
        return this.named("ReadFile", { workspace: "ws", path: "a.txt" }, this.seeded.pick(["r-1", `r-${n}`]))
    }
  }

  /** Of the right shape, and refused. */
  private excessive(): Json {
    const { local, waiting } = this.targets
    const other = mint<RunId>("run", 1_700_000_000_000 + this.seeded.whole(0, 1_000))
    const runId = this.seeded.pick([local, other])
    const by = this.seeded.pick(["usr_a", FORGED, "x".repeat(100_000)])
    const text = `/say ${FORBIDDEN}`
    const start = (more: object, id = other) =>
      this.named("StartRun", { runId: id, create: this.create({ input: { text }, ...more }) })
    const path = this.seeded.pick([
      "../outside.txt",
      "link.txt",
      "folder/outside.txt",
      "./../outside.txt",
      "a.txt/../../outside.txt",
      "x".repeat(4_000)
    ])
    const ulid = other.slice(4)
    switch (this.seeded.whole(0, 13)) {
      case 0:
        return start({}, local)
      case 1:
        return start({ resume: runId })
      case 2:
        return start({ workspace: this.seeded.pick(["elsewhere", "..", "constructor", "__proto__"]) })
      case 3:
        return start({ mode: "full_access" })
      case 4:
        return start({
          env: { [this.seeded.pick(["PATH", "NODE_OPTIONS", "__proto__", "LD_PRELOAD"])]: "x" }
        })
      case 5:
        return start({ agentId: this.seeded.pick(["missing", "constructor", "__proto__"]) })
      case 6:
        return this.named("CancelRun", {
          runId: this.seeded.pick([runId, this.seeded.pick(this.targets.runs)]),
          by,
          reason: this.seeded.pick([FORGED, "x".repeat(200_000)])
        })
      case 7:
        return this.named("SendInput", {
          runId,
          input: { text: FORBIDDEN.repeat(this.seeded.pick([1, 5_000])) },
          by
        })
      case 8: {
        const decision = this.seeded.pick(["allow", "deny"])
        const updatedInput = { deep: nested(this.seeded.pick([1, 500, 2_000])) }
        const more = this.seeded.pick<object>([{}, { scope: "always" }, { updatedInput }])
        return this.named("DecideApproval", {
          runId: this.seeded.pick([local, other, waiting]),
          approvalId: `apr_${ulid}`,
          decision,
          by,
          ...more
        })
      }
      case 9:
        return this.named("ReadDiff", { runId })
      case 10: {
        const offset = this.seeded.pick([0, 2 ** 31, Number.MAX_SAFE_INTEGER])
        return this.named("ReadArtifact", {
          runId: this.seeded.pick([runId, waiting]),
          artifactId: `art_${ulid}`,
          offset
        })
      }
      case 11:
        return this.named("OpenPreview", {
          runId: this.seeded.pick([runId, waiting]),
          previewId: `prv_${ulid}`
        })
      case 12:
        return this.named("ListFiles", {
          workspace: "ws",
          path: this.seeded.pick(["..", "folder", "../home"])
        })
      default:
        return this.named("ReadFile", { workspace: "ws", path })
    }
  }

  /** Changes nothing, and the link stays. */
  private ignored(): string {
    const requestId = this.seeded.pick<Json>(["4000000", "x", -1, 1e9])
    return JSON.stringify(
      this.seeded.pick<Json>([
        { _tag: "Pong" },
        { _tag: "Chunk", requestId, values: [this.valid()] },
        { _tag: "Exit", requestId, exit: { _tag: "Success", value: this.junk() } },
        { _tag: "Exit", requestId, exit: this.junk() },
        { _tag: "ClientEnd", clientId: 0 },
        { _tag: this.junk() },
        [],
        { requestId: this.junk(), _tag: "Ack" }
      ])
    )
  }

  private fatal(stream: string | number): string {
    const frame = this.chunk(stream, [this.named("StartRun", this.invalidStart())])
    const at = this.seeded.whole(1, frame.length - 1)
    const end = {
      _tag: "LinkEnd",
      why: this.seeded.pick<Json>(["broken", "stopped", this.junk()]),
      message: this.junk()
    }
    const failure = this.seeded.pick<Json>([end, this.junk(), { code: this.junk(), message: this.junk() }])
    const reason = { _tag: "SocketCloseError", code: this.junk(), closeReason: this.junk() }
    return this.seeded.pick<() => string>([
      () => frame,
      () => frame,
      () => this.chunk(stream, [this.valid(), this.junk(), this.valid()]),
      () =>
        this.chunk(stream, [this.named(this.seeded.pick(["Shell", "constructor", "startRun"]), this.junk())]),
      () => this.chunk(stream, [this.named("ReadFile", this.junk())]),
      () =>
        this.chunk(stream, [
          this.named("ListArtifacts", { runId: this.seeded.pick(this.targets.runs) }, "a b")
        ]),
      () => JSON.stringify({ _tag: "Chunk", requestId: stream, values: this.junk() }),
      () => JSON.stringify({ _tag: "Exit", requestId: stream, exit: this.junk() }),
      () =>
        JSON.stringify({ _tag: "Exit", requestId: stream, exit: { _tag: "Failure", cause: this.junk() } }),
      () => JSON.stringify({ _tag: "Defect", defect: this.junk() }),
      () => JSON.stringify({ _tag: "ClientProtocolError", error: failure }),
      () => JSON.stringify({ _tag: "ClientProtocolError", error: { _tag: "RpcClientError", reason } }),
      () => frame.slice(0, at),
      () => `${frame.slice(0, at)}\u0000${frame.slice(at + 1)}`,
      () => frame.split("").toReversed().join(""),
      () => "[".repeat(200_000),
      () => `${"[".repeat(50_000)}${"]".repeat(50_000)}`,
      () => `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`,
      () => this.seeded.pick(["null", "7", '"x"', "[null]", "{}", "", "[[]]"]),
      () =>
        JSON.stringify("x".repeat(this.seeded.pick([1_000_000, MAX_FRAME_BYTES - 2, MAX_FRAME_BYTES + 1])))
    ])()
  }

  private invalidStart(): Json {
    const text = `/say ${FORBIDDEN}`
    const runId = mint<RunId>("run", 1_700_000_000_000 + this.seeded.whole(0, 1_000))
    return this.seeded.pick<Json>([
      { runId: this.junk(), create: this.create({ input: { text } }) },
      { runId, create: this.create({ input: { text: text.repeat(20_000) } }) },
      { runId, create: this.create({ input: { text }, mode: "root" }) },
      { runId, create: this.create({ input: { text }, timeoutMs: this.seeded.pick([0, -1, 1e12]) }) },
      { runId, create: this.create({ input: { text }, env: { A: 1 } }) },
      { runId, create: this.create({ input: text }) },
      { runId }
    ])
  }
}
