import { assert, describe, it } from "@effect/vitest"
import {
  currentAgentId,
  findAgent,
  idsOfAgent,
  isReady,
  modesIn,
  namesSameAgent,
  needsIsolation,
  replacedAdapters,
  usualAgent,
  usualMode
} from "../../src/offer/Offer.ts"
import type { Agent } from "../../src/run/Agent.ts"
import { RunMode } from "../../src/run/Run.ts"

const capabilitiesOf = (approvals: boolean): Agent["capabilities"] => ({
  deltas: true,
  approvals,
  editInput: true,
  resume: true,
  readOnly: true,
  cancel: true,
  input: true
})
const asksFirst = { capabilities: capabilitiesOf(true) }
const neverAsks = { capabilities: capabilitiesOf(false) }
const all = RunMode.literals

describe("Offer", () => {
  it.each([
    [{ available: true }, true],
    [{ available: true, signedIn: true }, true],
    [{ available: true, signedIn: false }, false],
    [{ available: false }, false],
    [{ available: false, signedIn: true }, false]
  ])("says of the agent %j that it is ready: %s", (agent, ready) => {
    assert.strictEqual(isReady(agent), ready)
  })

  it("chooses the first ready agent, then one that needs a sign-in, and none that is not installed", () => {
    const missing = { id: "missing", available: false }
    const signedOut = { id: "out", available: true, signedIn: false }
    const ready = { id: "ready", available: true }
    assert.strictEqual(usualAgent([missing, signedOut, ready])?.id, "ready")
    assert.strictEqual(usualAgent([missing, signedOut])?.id, "out")
    assert.isUndefined(usualAgent([missing]))
  })

  it("offers the modes that the workspace and the agent allow, in the workspace's order", () => {
    assert.deepStrictEqual(
      modesIn({ modes: ["read_only", "plan", "ask"] }, { ...asksFirst, modes: ["ask", "plan"] }),
      ["plan", "ask"]
    )
    assert.deepStrictEqual(modesIn({ modes: all }, asksFirst), all)
    assert.deepStrictEqual(modesIn({ modes: [] }, asksFirst), [])
  })

  it("offers ask for an agent that does not ask only in a worktree or a layer", () => {
    assert.notInclude(modesIn({ modes: all }, neverAsks), "ask")
    assert.include(modesIn({ modes: all }, neverAsks, "worktree"), "ask")
    assert.include(modesIn({ modes: all }, neverAsks, "overlay"), "ask")
    assert.include(modesIn({ modes: all, isolation: "overlay" }, neverAsks), "ask")
    assert.notInclude(modesIn({ modes: all, isolation: "overlay" }, neverAsks, "none"), "ask")
    for (const mode of all) assert.strictEqual(needsIsolation(neverAsks, mode), mode === "ask")
    for (const mode of all) assert.isFalse(needsIsolation(asksFirst, mode))
  })

  it("chooses ask, or the most restrictive mode", () => {
    assert.strictEqual(usualMode(["read_only", "plan", "ask"]), "ask")
    assert.strictEqual(usualMode(["read_only", "plan"]), "read_only")
    assert.isUndefined(usualMode([]))
  })
})

describe("the id of a replaced adapter", () => {
  it.each([...replacedAdapters])("%s names %s", (replaced, by) => {
    assert.strictEqual(currentAgentId(replaced), by)
    assert.strictEqual(currentAgentId(by), by, "one that replaced another was not replaced itself")
    assert.isTrue(namesSameAgent(replaced, by))
    assert.isFalse(namesSameAgent(replaced, "scripted"))
    for (const id of [replaced, by]) assert.includeMembers([...idsOfAgent(id)], [replaced, by])
    assert.strictEqual(idsOfAgent(replaced)[0], by)
    const offered = [{ id: "scripted" }, { id: by }]
    assert.deepStrictEqual(findAgent(offered, replaced), { id: by })
    assert.isUndefined(findAgent([{ id: "scripted" }], replaced))
  })

  it.each([...replacedAdapters])(
    "%s names itself where an earlier Edge offers it next to %s",
    (replaced, by) => {
      const offered = [{ id: by }, { id: replaced }]
      assert.deepStrictEqual(findAgent(offered, replaced), { id: replaced })
      assert.deepStrictEqual(findAgent(offered, by), { id: by })
    }
  )

  it("finds nothing without agents or without an id", () => {
    assert.isUndefined(findAgent(undefined, "codex"))
    assert.isUndefined(findAgent([{ id: "codex" }], undefined))
  })
})
