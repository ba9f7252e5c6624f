import { replacedAdapters } from "@corral/domain/offer/Offer"
import { assert, describe, it } from "@effect/vitest"
import type { Agent } from "@corral/domain/run/Agent"
import type { Target } from "@corral/domain/device/Device"
import { usualMode } from "@corral/domain/offer/Offer"
import type { WorkspaceLink } from "@corral/domain/project/Project"
import type { RunMode } from "@corral/domain/run/Run"
import type { Workspace } from "@corral/domain/device/Workspace"
import {
  agentsOn,
  chooseStart,
  placesOf,
  startModes,
  targetsFor,
  workspacesOn
} from "../../src/start/Offer.ts"

const workspace = (id: string, modes: ReadonlyArray<RunMode> = ["read_only", "ask"]) =>
  ({ id, name: id, modes, git: false, available: true }) as Workspace
// What the offer does not look at is left out.
const target = (id: string, state: Target["state"], workspaces: ReadonlyArray<Workspace> = []) =>
  ({ id, name: id, state, workspaces, agents: [] }) as unknown as Target
// As above: who linked it, and when, is not looked at.
const link = (targetId: string, id: string) => ({ targetId, workspace: id }) as unknown as WorkspaceLink
const agent = (id: string, available: boolean, modes?: ReadonlyArray<RunMode>) =>
  ({
    id,
    label: id,
    available,
    capabilities: { approvals: true },
    ...(modes === undefined ? {} : { modes })
  }) as Agent

describe("Offer", () => {
  it("lists linked devices, online devices first", () => {
    const targets = [target("away", "offline"), target("here", "online"), target("unlinked", "online")]
    const found = targetsFor(targets, [link("away", "a"), link("here", "b"), link("here", "c")])
    assert.deepStrictEqual(
      found.map(({ id }): string => id),
      ["here", "away"]
    )
  })

  it("marks linked workspaces that the device no longer offers", () => {
    const here = target("here", "online", [workspace("b"), workspace("unlinked")])
    const found = workspacesOn(here, [link("here", "b"), link("here", "gone"), link("away", "a")])
    assert.deepStrictEqual(
      found.map(({ id, offered }): readonly [string, boolean] => [id, offered !== undefined]),
      [
        ["b", true],
        ["gone", false]
      ]
    )
    assert.deepStrictEqual(workspacesOn(undefined, [link("here", "b")]), [])
  })

  it("lists available agents first and keeps their order", () => {
    const agents = [agent("x", false), agent("y", true), agent("z", true)]
    const found = agentsOn({ ...target("here", "online"), agents })
    assert.deepStrictEqual(
      found.map(({ id }): string => id),
      ["y", "z", "x"]
    )
  })

  it("offers modes that workspace and agent allow, with ask as the default", () => {
    const modes = startModes(workspace("b", ["read_only", "plan", "ask"]), agent("x", true, ["ask", "plan"]))
    assert.deepStrictEqual(modes, ["plan", "ask"])
    assert.strictEqual(usualMode(modes), "ask")
    assert.strictEqual(usualMode(["read_only", "plan"]), "read_only")
    assert.isUndefined(usualMode(startModes(undefined, agent("x", true))))
    assert.deepStrictEqual(startModes(workspace("b"), agent("x", true)), ["read_only", "ask"])
  })

  it("offers ask only for agents that ask", () => {
    const silent = {
      ...agent("x", true),
      capabilities: { ...agent("x", true).capabilities, approvals: false }
    }
    assert.deepStrictEqual(startModes(workspace("b"), silent), ["read_only"])
  })

  describe("a choice", () => {
    const agents = [agent("claude", true), agent("codex", true, ["plan", "ask"]), agent("gone", false)]
    const targets = [
      { ...target("away", "offline", [workspace("a")]), agents },
      { ...target("here", "online", [workspace("b"), workspace("c")]), agents }
    ]
    const places = placesOf(targets, [
      link("away", "a"),
      link("here", "lost"),
      link("here", "b"),
      link("here", "c")
    ])
    const chosen = (wish: Parameters<typeof chooseStart>[1]): ReadonlyArray<string | undefined> => {
      const { agent: found, mode, place } = chooseStart(places, wish)
      return [place?.target.id, place?.workspace.id, found?.id, mode]
    }

    it("is the first usable offer without a wish", () => {
      assert.deepStrictEqual(chosen({}), ["here", "b", "claude", "ask"])
      assert.deepStrictEqual(chooseStart([], {}), {
        place: undefined,
        agents: [],
        agent: undefined,
        modes: [],
        mode: undefined,
        model: undefined
      })
    })

    it("has the model of the wish for its agent only", () => {
      const modelOf = (agentId: string) => chooseStart(places, { agentId, model: "large" }).model
      assert.deepStrictEqual([modelOf("claude"), modelOf("gone")], ["large", undefined])
      assert.isUndefined(chooseStart(places, { model: "large" }).model)
    })

    it("follows the wish, also to an offline device", () => {
      const wish = { targetId: "away", workspace: "a", agentId: "codex", mode: "read_only" }
      // The agent does not support the mode.
      assert.deepStrictEqual(chosen(wish), ["away", "a", "codex", "ask"])
      assert.deepStrictEqual(chosen({ ...wish, agentId: "claude" }), ["away", "a", "claude", "read_only"])
    })

    it.each([...replacedAdapters])("follows a wish that names %s, with its model", (replaced, by) => {
      assert.strictEqual(by, "codex")
      const wish = { targetId: "here", workspace: "b", agentId: replaced, mode: "ask", model: "large" }
      assert.deepStrictEqual(chosen(wish), ["here", "b", by, "ask"])
      assert.strictEqual(chooseStart(places, wish).model, "large")
    })

    it("falls back where a part is no longer offered", () => {
      const lost = { targetId: "here", workspace: "lost", agentId: "gone" }
      assert.deepStrictEqual(chosen(lost), ["here", "b", "claude", "ask"])
      assert.deepStrictEqual(chosen({ targetId: "here", workspace: "never" }), ["here", "b", "claude", "ask"])
      assert.deepStrictEqual(chosen({ targetId: "never", agentId: "never" }), ["here", "b", "claude", "ask"])
    })

    it("prefers an agent that is signed in", () => {
      const signedOut = { ...agent("claude", true), signedIn: false }
      const on = [
        { ...target("here", "online", [workspace("b")]), agents: [signedOut, agent("codex", true)] }
      ]
      const at = placesOf(on, [link("here", "b")])
      assert.strictEqual(chooseStart(at, {}).agent?.id, "codex")
      assert.strictEqual(chooseStart(at, { agentId: "claude" }).agent?.id, "claude")
    })
  })
})
