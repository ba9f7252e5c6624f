/** One broken adapter per kind of fault. Each fault is found by its own rule, and the correct adapter passes. */
import { draft } from "@corral/domain/run/RunEvent"
import { assert, describe, it } from "@effect/vitest"
import type { AdapterEvent, AdapterOutput, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { Buffer } from "node:buffer"
import { conformance } from "../src/Conformance.ts"
import { rules, type RuleId } from "../src/Rules.ts"
import { faultyOutputs, faultyProtocol, sampleAdapter, sampleRecordings } from "./SampleAdapter.ts"

/** Rules that an adapter breaks. Megabytes of output are for the fault that needs them. */
const rulesBroken = (adapter: RuntimeAdapter, withMemory = false): ReadonlySet<RuleId> =>
  new Set(
    conformance(adapter, sampleRecordings, { runs: 4, seed: 1 })
      .filter(({ name }) => withMemory || !name.includes("at most one line"))
      .flatMap((check) => check.findings().map(({ rule }) => rule))
  )

const isEvent = (output: AdapterOutput, type: AdapterEvent["type"]): boolean =>
  output._tag === "Event" && output.event.type === type
const messageOutput = (text: string, messageId = "extra"): AdapterOutput => ({
  _tag: "Event",
  event: draft("run.message.completed", { messageId, role: "assistant", channel: "text", text })
})
const claiming = (capabilities: Partial<RuntimeAdapter["capabilities"]>): RuntimeAdapter => ({
  ...sampleAdapter,
  capabilities: { ...sampleAdapter.capabilities, ...capabilities }
})
const decoded = (chunk: Uint8Array): string => Buffer.from(chunk).toString("utf8")

/** By the rule that must find it. */
const faults: Readonly<Partial<Record<RuleId, readonly [fault: string, adapter: RuntimeAdapter]>>> = {
  "specification-version": [
    "is of another version",
    Object.assign({ ...sampleAdapter }, { specificationVersion: 3 })
  ],
  shape: ["has no label", { ...sampleAdapter, label: "" }],
  probe: [
    "throws on an answer of its program",
    {
      ...sampleAdapter,
      probe: {
        ...sampleAdapter.probe,
        signedIn: { args: [], read: ({ stdout }) => JSON.parse(stdout).loggedIn === true }
      }
    }
  ],
  command: [
    "starts no program",
    { ...sampleAdapter, command: () => ({ file: "", args: [], stdin: "pipe" }) }
  ],
  environment: [
    "copies the Edge's variables",
    {
      ...sampleAdapter,
      command: () => ({
        file: "sample",
        args: [],
        stdin: "pipe",
        env: { ...process.env } as Record<string, string>
      }) // the variables are set
    }
  ],
  keys: [
    "declares a key that its runtime does not receive",
    {
      ...sampleAdapter,
      passEnv: ["OTHER_*"],
      network: { hosts: [], keys: [{ variable: "MODEL_KEY", headers: ["x-api-key"], hosts: ["model.test"] }] }
    }
  ],
  capabilities: [
    "claims to resume and does not",
    faultyProtocol((_, { prompt }) => ({ open: `${JSON.stringify({ prompt })}\n` }))
  ],
  throws: ["throws on a cancel", faultyProtocol(() => ({ cancel: () => assert.fail("cannot cancel") }))],
  "unknown-input": [
    "throws on an unknown line",
    faultyProtocol(({ step }) => ({
      step: (chunk) => (decoded(chunk).includes("never_heard_of") ? assert.fail("unknown type") : step(chunk))
    }))
  ],
  "truncated-text": [
    "throws on a cut character",
    faultyProtocol(({ step }) => ({
      step: (chunk) => {
        const text = new TextDecoder("utf-8", { fatal: chunk.length < 64 && chunk.at(-1) !== 10 })
        text.decode(chunk)
        return step(chunk)
      }
    }))
  ],
  "outcome-missing": ["never ends", faultyOutputs((output) => (output._tag === "Outcome" ? [] : [output]))],
  "outcome-repeated": [
    "ends twice",
    {
      ...faultyOutputs((output) => (output._tag === "Outcome" ? [output, output] : [output])),
      specificationVersion: 1
    }
  ],
  "output-after-outcome": [
    "emits after the end",
    faultyOutputs((output) => (output._tag === "Outcome" ? [output, messageOutput("late")] : [output]))
  ],
  "outcome-wrong": [
    "calls a failure a success",
    faultyOutputs((output) =>
      output._tag === "Outcome" && output.outcome._tag === "Failed"
        ? [{ _tag: "Outcome", outcome: { _tag: "Completed" } }]
        : [output]
    )
  ],
  "lost-output": [
    "drops a line",
    faultyOutputs((output) =>
      JSON.stringify(output).includes('"It is edited.","') || JSON.stringify(output).includes('"m2"')
        ? []
        : [output]
    )
  ],
  "repeated-output": [
    "duplicates an event",
    faultyOutputs((output) => (isEvent(output, "run.file.changed") ? [output, output] : [output]))
  ],
  "changed-output": [
    "says something else",
    faultyOutputs((output) =>
      JSON.stringify(output).includes('"m2"') ? [messageOutput("Something else.", "m2")] : [output]
    )
  ],
  order: [
    "changes the order",
    faultyProtocol(({ end, step }) => {
      let held: ReadonlyArray<AdapterOutput> = []
      const reordered = (outputs: ReadonlyArray<AdapterOutput>) =>
        outputs.flatMap((output) => {
          if (isEvent(output, "run.file.changed")) {
            held = [output]
            return []
          }
          const isNext =
            held.length > 0 && (JSON.stringify(output).includes('"m2"') || output._tag === "Outcome")
          const released = isNext ? held : []
          if (isNext) held = []
          return output._tag === "Outcome" ? [...released, output] : [output, ...released]
        })
      return { step: (chunk) => reordered(step(chunk)), end: (exit) => reordered(end(exit)) }
    })
  ],
  "chunk-boundaries": [
    "forgets half a line between reads",
    faultyProtocol(({ step }) => ({ step: (chunk) => (chunk.at(-1) === 10 ? step(chunk) : []) }))
  ],
  "copied-input": [
    "keeps the memory of a read",
    faultyProtocol(({ end, step }) => {
      const stored: Array<Uint8Array> = []
      return {
        step: (chunk) => (stored.push(chunk), []),
        end: (exit) => [...step(Buffer.concat(stored)), ...end(exit)]
      }
    })
  ],
  determinism: [
    "invents ids at random",
    faultyOutputs((output) =>
      JSON.stringify(output).includes('"m2"')
        ? [messageOutput("It is edited.", String(Math.random()))]
        : [output]
    )
  ],
  "shared-state": [
    "shares state between runs",
    (() => {
      let rest = 0
      return faultyProtocol(({ end, step }) => ({
        step: (chunk) => ((rest += chunk.length), step(chunk)),
        end: (exit) => {
          const outputs = end(exit)
          const isShared = rest > 1.5 * (sampleRecordings[0]?.stdout.length ?? 0)
          rest = 0
          return isShared ? [...outputs, messageOutput("more")] : outputs
        }
      }))
    })()
  ],
  schema: [
    "emits an event without its fields",
    faultyOutputs((output) =>
      isEvent(output, "run.message.completed")
        ? [
            {
              _tag: "Event",
              event: Object.assign(
                draft("run.message.completed", {
                  messageId: "m",
                  role: "assistant",
                  channel: "text",
                  text: ""
                }),
                { payload: { text: 1 } }
              )
            }
          ]
        : [output]
    )
  ],
  machine: [
    "starts the run after its first message",
    faultyOutputs((output) => (isEvent(output, "run.started") ? [messageOutput("early"), output] : [output]))
  ],
  calls: [
    "leaves calls open",
    faultyOutputs((output) => (isEvent(output, "run.tool.result") ? [] : [output]))
  ],
  "message-ids": [
    "invents ids that collide",
    faultyOutputs((output) =>
      isEvent(output, "run.message.completed") && JSON.stringify(output).includes('"m2"')
        ? [messageOutput("It is edited.", "m1")]
        : [output]
    )
  ],
  "approval-keys": [
    "asks twice with one key",
    faultyOutputs((output) => (output._tag === "Approval" ? [output, output] : [output]))
  ],
  "question-keys": [
    "asks a question twice with one key",
    faultyOutputs((output) => (output._tag === "InputRequested" ? [output, output] : [output]))
  ],
  work: [
    "starts work twice",
    faultyOutputs((output) =>
      output._tag === "Work" && output.state === "running" ? [output, output] : [output]
    )
  ],
  "message-text": [
    "loses a delta",
    faultyOutputs((output) => (JSON.stringify(output).includes('"I will edit "') ? [] : [output]))
  ],
  "message-open": [
    "does not complete a message",
    faultyOutputs((output) => (JSON.stringify(output).includes('"m1","role"') ? [] : [output]))
  ],
  "diff-once": [
    "reports the changes twice",
    faultyOutputs((output) => {
      const diff: AdapterOutput = {
        _tag: "Event",
        event: draft("run.diff.ready", { files: 0, additions: 0, deletions: 0 })
      }
      return output._tag === "Outcome" ? [diff, diff, output] : [output]
    })
  ],
  "approval-files": [
    "does not name the file that it writes",
    faultyOutputs((output) =>
      output._tag === "Approval" ? [{ ...output, request: { ...output.request, files: [] } }] : [output]
    )
  ],
  "relative-paths": [
    "reports absolute paths",
    faultyOutputs((output, { workspacePath }) =>
      isEvent(output, "run.file.changed")
        ? [
            {
              _tag: "Event",
              event: draft("run.file.changed", { path: `${workspacePath}/notes.txt`, change: "modified" })
            }
          ]
        : [output]
    )
  ],
  noise: [
    "ends at a meaningless line",
    faultyOutputs((output) =>
      isEvent(output, "schema.validation_failed")
        ? [messageOutput("noise", `n${Math.abs(JSON.stringify(output).length)}`)]
        : [output]
    )
  ],
  "later-versions": [
    "reads by position",
    faultyProtocol(({ step }) => ({
      step: (chunk) => step(Buffer.from(decoded(chunk).replaceAll('{"later', '["later')))
    }))
  ],
  "truncated-output": [
    "takes a cut output for a success",
    faultyOutputs((output) =>
      output._tag === "Outcome" && JSON.stringify(output).includes('"truncated"')
        ? [{ _tag: "Outcome", outcome: { _tag: "Completed" } }]
        : [output]
    )
  ],
  secrets: [
    "prints an unreadable line",
    faultyProtocol(({ step }) => ({
      step: (chunk) => {
        const text = decoded(chunk)
        const secret = text.length < 2_000 && text.includes("-secret-") ? text : undefined
        return secret === undefined ? step(chunk) : [...step(chunk), { _tag: "Unknown", what: secret }]
      }
    }))
  ],
  "answer-once": [
    "answers an approval twice",
    faultyProtocol(({ answer }) => {
      const texts = new Map<string, string | undefined>()
      return {
        answer: (key, decision) => {
          if (!texts.has(key)) texts.set(key, answer(key, decision))
          return texts.get(key)
        }
      }
    })
  ],
  unanswered: [
    "takes the first option where no person has answered",
    faultyProtocol(({ respond }) => ({
      respond: (key, response) =>
        respond?.(
          key,
          response._tag === "Unanswered" ? { _tag: "Answered", answers: { q: "Red" } } : response
        )
    }))
  ],
  "answer-sent": [
    "sends no answer of a person",
    faultyProtocol(({ respond }) => ({
      respond: (key) => respond?.(key, { _tag: "Unanswered", reason: "lost" })
    }))
  ],
  cancel: ["ignores a cancel", faultyProtocol(() => ({ cancel: () => "\n" }))],
  memory: [
    "keeps everything",
    faultyProtocol(({ step }) => {
      const stored: Array<Uint8Array> = []
      return {
        step: (chunk) => (stored.push(Buffer.from(chunk)), step(chunk)),
        cancel: () => `${stored.length}\n`
      }
    })
  ],
  prototypes: [
    "changes a prototype",
    faultyProtocol(({ step }) => ({
      step: (chunk) => {
        Reflect.set(Object.prototype, "polluted", true)
        return step(chunk)
      }
    }))
  ]
}

/** Found by other means: `blocks` by `CheckModule.test.ts`, `long-text` only where a program prints such a text. */
const elsewhere: ReadonlyArray<string> = ["blocks", "long-text"]

describe("the conformance kit", () => {
  it("has a broken adapter for every rule", () => {
    assert.deepStrictEqual([...Object.keys(faults), ...elsewhere].toSorted(), Object.keys(rules).toSorted())
  })

  it("passes a correct adapter", () => {
    for (const check of conformance(sampleAdapter, sampleRecordings))
      assert.deepStrictEqual(check.findings(), [], check.name)
  })

  for (const [rule, [fault, adapter]] of Object.entries(faults))
    it(`finds by ${rule} an adapter that ${fault}`, () => {
      assert.include([...rulesBroken(adapter, rule === "memory")], rule)
    })

  it("finds an outcome before the work is done", () => {
    const forgetful = faultyOutputs((output) => (output._tag === "Work" ? [] : [output]))
    assert.include([...rulesBroken(forgetful)], "output-after-outcome")
  })

  it("finds an answer of the adapter itself", () => {
    const hasty = faultyOutputs((output) =>
      output._tag === "InputRequested"
        ? [output, { _tag: "Reply", text: '{"key":"q1","answers":{"q":"Red"}}\n' }]
        : [output]
    )
    assert.include([...rulesBroken(hasty)], "unanswered")
  })

  it("finds questions without a way to answer, and work of an adapter of version 1", () => {
    assert.include([...rulesBroken(faultyProtocol(() => ({ respond: undefined })))], "capabilities")
    assert.include([...rulesBroken({ ...sampleAdapter, specificationVersion: 1 })], "specification-version")
  })

  it("finds a probe whose arguments are no texts", () => {
    const probe = { ...sampleAdapter.probe, versionArgs: [1 as never] }
    assert.include([...rulesBroken({ ...sampleAdapter, probe })], "probe")
  })

  it("finds counts that are none", () => {
    const counts = ["minutes" as never]
    assert.include([...rulesBroken({ ...sampleAdapter, counts })], "shape")
  })

  it("finds a capability that is claimed and missing", () => {
    const silent = faultyProtocol(() => ({
      input: () => undefined,
      cancel: () => undefined,
      answer: () => undefined
    }))
    const continuation = { store: "", model: "any", mode: "any", folder: "any" } as const
    const listening: RuntimeAdapter = {
      ...sampleAdapter,
      command: () => ({ file: "sample", args: [], stdin: "once" })
    }
    for (const adapter of [
      silent,
      listening,
      claiming({ readOnly: true, approvals: false }),
      claiming({ deltas: false }),
      { ...claiming({ resume: false }), continuation },
      { ...sampleAdapter, images: "native" } as const,
      { ...sampleAdapter, counts: ["turns"] } as const
    ])
      assert.include([...rulesBroken(adapter)], "capabilities")
  })
})
