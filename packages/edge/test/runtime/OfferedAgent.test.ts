import { makeText } from "@corral/adapters/Text"
import type { RunMode } from "@corral/domain/run/Run"
import { assert, describe, it } from "@effect/vitest"
import {
  agentModes,
  fromAdapter,
  isolationRefusal,
  modeRefusal,
  networkOf,
  type OfferedAgent
} from "../../src/runtime/Offers.ts"

const text = makeText({ label: "Tool", command: ["tool"], stdin: "prompt", install: "" })

const offered = (can: { approvals?: boolean; readOnly?: boolean }, widestMode?: RunMode): OfferedAgent => ({
  ...fromAdapter({ ...text, capabilities: { ...text.capabilities, ...can } }),
  widestMode
})

describe("networkOf", () => {
  const network = { hosts: ["api.example.com"], isNodeClient: false }
  const agent = fromAdapter({ ...text, network })

  it("is that of the adapter for its own program", () => {
    assert.deepStrictEqual(networkOf(agent), network)
    assert.isUndefined(networkOf(fromAdapter(text)))
  })

  it("lets another program connect", () => {
    const { hosts, isNodeClient } = networkOf({ ...agent, program: "/opt/other" }) ?? {}
    assert.deepStrictEqual([hosts, isNodeClient], [["api.example.com"], undefined])
  })
})

describe("modesOf", () => {
  const cases: ReadonlyArray<readonly [OfferedAgent, ReadonlyArray<RunMode>]> = [
    [offered({ approvals: true }), ["read_only", "plan", "ask", "auto_edit", "full_access"]],
    [offered({ approvals: true }, "ask"), ["read_only", "plan", "ask"]],
    [offered({ approvals: true }, "read_only"), ["read_only"]],
    [offered({}), ["full_access"]],
    [offered({}, "auto_edit"), []],
    [offered({ readOnly: true }), ["read_only", "plan", "full_access"]],
    [offered({ readOnly: true }, "ask"), ["read_only", "plan"]]
  ]
  it.each(cases)("is what an agent can be held to and no wider than its widest", (agent, modes) => {
    assert.deepStrictEqual(agentModes(agent), modes)
    for (const mode of ["read_only", "plan", "ask", "auto_edit", "full_access"] as const) {
      assert.strictEqual(modeRefusal(agent, mode) === undefined, modes.includes(mode), mode)
    }
  })

  it.each([
    [offered({}), ["read_only", "plan", "ask", "auto_edit", "full_access"]],
    [offered({ readOnly: true }, "auto_edit"), ["read_only", "plan", "ask", "auto_edit"]],
    [offered({ approvals: true }, "plan"), ["read_only", "plan"]]
  ] as const)("has every mode up to its widest where the kernel confines runs", (agent, modes) => {
    assert.deepStrictEqual(agentModes(agent, true), modes)
    for (const mode of modes) assert.isUndefined(modeRefusal(agent, mode, true))
  })

  it("needs an isolation in ask if it does not ask", () => {
    assert.include(isolationRefusal(offered({}), "ask", "none"), "only in a worktree")
    assert.isUndefined(isolationRefusal(offered({}), "ask", "worktree"))
    assert.isUndefined(isolationRefusal(offered({}), "auto_edit", "none"))
    assert.isUndefined(isolationRefusal(offered({ approvals: true }), "ask", "none"))
  })

  it("says why", () => {
    assert.strictEqual(
      modeRefusal(offered({ readOnly: true }), "ask"),
      "Tool does not ask for approval before it acts, so it runs only in read_only, plan, full_access."
    )
    assert.strictEqual(
      modeRefusal(offered({ approvals: true }, "plan"), "ask"),
      "Tool runs only in read_only, plan."
    )
  })
})
