import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { OfferedAgent } from "../../src/link/EdgeLink.ts"
import { Agent } from "../../src/run/Agent.ts"

/** Of an earlier Hub, which has no count of cost. */
const EarlierAgent = Schema.Struct({
  ...Agent.fields,
  counts: Schema.optionalKey(Schema.Array(Schema.Literals(["tokens", "turns"])))
})

describe("OfferedAgent", () => {
  it.prop("gives a later Hub all counts, and an earlier one those that it has", [Agent], ([agent]) => {
    const counts = [...new Set(agent.counts)]
    const offered: Agent = agent.counts === undefined ? agent : { ...agent, counts }
    const sent: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(OfferedAgent)(offered)))
    const received = Schema.decodeUnknownSync(OfferedAgent)(sent)
    assert.deepStrictEqual(new Set(received.counts), new Set(counts))
    assert.deepStrictEqual({ ...received, counts: [] }, { ...offered, counts: [] })
    const earlier = Schema.decodeUnknownSync(EarlierAgent)(sent)
    assert.deepStrictEqual<ReadonlyArray<string> | undefined>(
      earlier.counts,
      offered.counts?.filter((counted) => counted !== "cost")
    )
  })

  it("reads the counts of an Edge that names cost among them", () => {
    const [agent] = [{ id: "a", label: "A", runtime: "a", available: true, counts: ["tokens", "cost"] }]
    const capabilities = {
      deltas: true,
      approvals: true,
      editInput: true,
      resume: true,
      readOnly: true,
      cancel: true,
      input: true
    }
    const received = Schema.decodeUnknownSync(OfferedAgent)({ ...agent, capabilities })
    assert.deepStrictEqual(received.counts, ["tokens", "cost"])
  })
})
