/**
 * A custom adapter in one file: output of `deployer.mjs` becomes events, and a decision becomes a line of its stdin.
 *
 * `JsonLines` splits any chunks into lines. `OutputCollector` guarantees one result per call and one outcome.
 */
import { JsonLines, type JsonLine } from "@corral/adapters/text/JsonLines"
import { OutputCollector, runtimeFailure } from "@corral/adapters/output/OutputCollector"
import { draft } from "@corral/domain/run/RunEvent"
import type { AdapterOutput, Protocol, RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"

const label = "Deployer"
const line = (value: object): string => `${JSON.stringify(value)}\n`

class DeployerProtocol implements Protocol {
  readonly open: string
  readonly #lines = new JsonLines()
  readonly #collector = new OutputCollector()
  #messages = 0
  #target = ""

  constructor({ prompt }: RunStart) {
    this.open = line({ task: prompt })
  }

  readonly step: Protocol["step"] = (chunk) => this.#read(this.#lines.push(chunk))

  readonly end: Protocol["end"] = (end) => {
    const outputs = this.#read(this.#lines.end())
    // Has no effect after the outcome.
    this.#collector.concludeAtExit(label, end)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (key, { decision }) =>
    this.#collector.takeAnswer(key) ? line({ yes: decision === "allow" }) : undefined

  readonly input: Protocol["input"] = () => undefined

  /** The program has no cancel message: signals end it, and later failures count as cancelled. */
  readonly cancel: Protocol["cancel"] = () => {
    this.#collector.markCancelled()
    return undefined
  }

  #read(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (value) => this.#applyLine(value))
  }

  #applyLine({ hello, says, wants, target, done, failed }: Readonly<Record<string, unknown>>): void {
    const collector = this.#collector
    if (typeof hello === "string") return collector.start({ runtimeVersion: hello })
    if (typeof says === "string") {
      const messageId = `m${++this.#messages}`
      return collector.emitEvent(
        draft("run.message.completed", { messageId, role: "assistant", channel: "text", text: says })
      )
    }
    if (wants === "deploy" && typeof target === "string") {
      this.#target = target
      collector.openCall({ callId: target, tool: "deploy", label: `Deploy ${target}` })
      collector.requestApproval(target, {
        action: "deploy",
        risk: "high",
        title: `Deploy ${target}`,
        tool: "deploy",
        callId: target,
        editable: false,
        scopes: ["once"]
      })
      return
    }
    if (typeof done === "string") {
      collector.closeCall({ callId: this.#target, status: "completed", output: done })
      return collector.conclude({ _tag: "Completed", text: done })
    }
    if (typeof failed === "string") return collector.fail(runtimeFailure("not_deployed", failed))
    return collector.countUnknown("line")
  }
}

/** The deployer at `program`, run by the Node at `node`; both absolute paths. */
export const makeDeployer = (node: string, program: string): RuntimeAdapter => ({
  specificationVersion: 1,
  id: "deployer",
  label,
  capabilities: {
    deltas: false,
    approvals: true,
    editInput: false,
    resume: false,
    readOnly: false,
    cancel: false,
    input: false
  },
  probe: { command: node, versionArgs: [program, "--version"], install: "It is next to this example." },
  command: () => ({ file: node, args: [program], stdin: "pipe" }),
  protocol: (start) => new DeployerProtocol(start)
})
