/**
 * An adapter of your own, in one file: what `deployer.mjs` prints becomes events, what a person decides becomes a line for it.
 *
 * `JsonLines` reads lines whatever the reads, `Turn` keeps what every run must keep: one result for each call, one outcome.
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
    // Says nothing where the outcome is out.
    this.#collector.concludeAtExit(label, end)
    return [...outputs, ...this.#collector.takeOutputs()]
  }

  readonly answer: Protocol["answer"] = (_key, { decision }) => line({ yes: decision === "allow" })

  readonly input: Protocol["input"] = () => undefined

  /** The program has no cancel message: signals end it. */
  /** The program takes no cancel, but what fails from now on was stopped by one. */
  readonly cancel: Protocol["cancel"] = () => {
    this.#collector.markCancelled()
    return undefined
  }

  #read(lines: ReadonlyArray<JsonLine>): ReadonlyArray<AdapterOutput> {
    return this.#collector.readLines(lines, (said) => this.#understand(said))
  }

  #understand({ hello, says, wants, target, done, failed }: Readonly<Record<string, unknown>>): void {
    const turn = this.#collector
    if (typeof hello === "string") return turn.start({ runtimeVersion: hello })
    if (typeof says === "string") {
      const messageId = `m${++this.#messages}`
      return turn.emitEvent(
        draft("run.message.completed", { messageId, role: "assistant", channel: "text", text: says })
      )
    }
    if (wants === "deploy" && typeof target === "string") {
      this.#target = target
      turn.openCall({ callId: target, tool: "deploy", label: `Deploy ${target}` })
      turn.requestApproval(target, {
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
      turn.closeCall({ callId: this.#target, status: "completed", output: done })
      return turn.conclude({ _tag: "Completed", text: done })
    }
    if (typeof failed === "string") return turn.fail(runtimeFailure("not_deployed", failed))
    return turn.countUnknown("line")
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
  probe: { command: node, versionArgs: [program, "--version"], install: "It lies beside this example." },
  command: () => ({ file: node, args: [program], stdin: "pipe" }),
  protocol: (start) => new DeployerProtocol(start)
})
