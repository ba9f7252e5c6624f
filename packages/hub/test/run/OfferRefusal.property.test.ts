import { LAYERS_FEATURE } from "@corral/domain/link/EdgeCommand"
import { assert, describe, it } from "@effect/vitest"
import { Agent } from "@corral/domain/run/Agent"
import { CountedLimit } from "@corral/domain/run/Budget"
import { CreateRun, Isolation, RunMode } from "@corral/domain/run/Run"
import { Workspace } from "@corral/domain/device/Workspace"
import { Schema } from "effect"
import * as fc from "fast-check"
import { effort } from "@corral/testing/time/Effort"
import { findOfferRefusal, offeredModes } from "../../src/run/OfferRefusal.ts"

const names = ["a", "b", "c"] as const
const name = fc.constantFrom(...names)
const modes = fc.subarray([...RunMode.literals])
const optional = <A>(of: fc.Arbitrary<A>) => fc.option(of, { nil: undefined })
const without = <A extends object>(of: A) =>
  Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined))

const agent = fc
  .record({
    id: name,
    available: fc.boolean(),
    modes: optional(modes),
    counts: optional(fc.subarray([...CountedLimit.literals])),
    approvals: fc.boolean(),
    resume: fc.boolean()
  })
  .map(({ approvals, resume, ...rest }) =>
    Schema.decodeUnknownSync(Agent)({
      ...without(rest),
      label: rest.id,
      runtime: rest.id,
      capabilities: {
        deltas: true,
        approvals,
        editInput: true,
        resume,
        readOnly: true,
        cancel: true,
        input: true
      }
    })
  )
const workspace = fc
  .record({ id: name, modes, git: fc.boolean() })
  .map((of) => Schema.decodeUnknownSync(Workspace)({ ...of, name: of.id, available: true }))
const create = fc
  .record({
    workspace: name,
    agentId: name,
    mode: fc.constantFrom(...RunMode.literals),
    isolation: optional(fc.constantFrom(...Isolation.literals)),
    resume: optional(fc.constant("run_01K00000000000000000000000")),
    budget: optional(
      fc.record(
        {
          tokens: fc.constant(1),
          turns: fc.constant(1),
          wallMs: fc.constant(1_000),
          costUsd: fc.constant(0.5)
        },
        { requiredKeys: [] }
      )
    )
  })
  .map((of) => Schema.decodeUnknownSync(CreateRun)({ ...without(of), input: { text: "Hello" } }))

describe("findOfferRefusal", () => {
  it("accepts a task exactly if each of its fields is in the target's inventory", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(agent, { selector: ({ id }) => id }),
        fc.uniqueArray(workspace, { selector: ({ id }) => id }),
        create,
        fc.boolean(),
        fc.boolean(),
        (agents, workspaces, task, isPresent, hasLayers) => {
          const commands = hasLayers ? [LAYERS_FEATURE] : []
          const refusal = findOfferRefusal({ agents, workspaces, commands }, task, isPresent)
          const by = agents.find(({ id }) => id === task.agentId)
          const place = workspaces.find(({ id }) => id === task.workspace)
          const isolation = task.isolation ?? place?.isolation
          const fits =
            by !== undefined &&
            place !== undefined &&
            place.modes.includes(task.mode) &&
            (by.modes === undefined || by.modes.includes(task.mode)) &&
            (task.mode !== "ask" ||
              by.capabilities.approvals ||
              task.resume !== undefined ||
              isolation === "worktree" ||
              isolation === "overlay") &&
            (task.isolation !== "overlay" || hasLayers) &&
            (task.resume === undefined || by.capabilities.resume) &&
            (task.isolation !== "worktree" || place.git) &&
            (
              [
                ["tokens", "tokens"],
                ["turns", "turns"],
                ["cost", "costUsd"]
              ] as const
            ).every(
              ([count, limit]) => task.budget?.[limit] === undefined || by.counts?.includes(count) === true
            ) &&
            (by.available || !isPresent)
          assert.strictEqual(refusal === undefined, fits, refusal?.message)
        }
      ),
      { numRuns: 2_000 * effort }
    )
  })

  it.each([
    ["command_missing", "Claude Code is not installed on the device."],
    ["not_signed_in", "Claude Code is not signed in on the device."],
    ["no_answer", "Claude Code is not available on the device."],
    [undefined, "Claude Code is not available on the device."]
  ])("says why an agent is not available, %s", (reason, message) => {
    const [some] = fc.sample(agent, 1)
    assert.isDefined(some)
    const label = "Claude Code"
    const capabilities = { ...some.capabilities, approvals: true }
    const offered = {
      ...some,
      capabilities,
      label,
      available: false,
      ...(reason === undefined ? {} : { reason })
    }
    const task = Schema.decodeUnknownSync(CreateRun)({
      workspace: "ws",
      agentId: some.id,
      mode: "ask",
      input: { text: "Hello" }
    })
    const modes = ["ask"] as const
    const place = Schema.decodeUnknownSync(Workspace)({
      id: "ws",
      name: "ws",
      git: false,
      modes,
      available: true
    })
    const refusal = findOfferRefusal({ agents: [{ ...offered, modes }], workspaces: [place] }, task, true)
    assert.strictEqual(refusal?.message, message)
  })
})

describe("offeredModes", () => {
  it("are those in which a new task is not refused for its mode", () => {
    fc.assert(
      fc.property(agent, workspace, create, (by, place, task) => {
        const target = { agents: [by], workspaces: [place] }
        const { resume: _, ...first } = task
        const request = { ...first, agentId: by.id, workspace: place.id }
        const isRefused = (mode: RunMode) => {
          const refusal = findOfferRefusal(target, { ...request, mode }, false)
          return refusal?.code === "permission_denied"
        }
        assert.deepStrictEqual(
          offeredModes(target, request),
          place.modes.filter((mode) => !isRefused(mode))
        )
      }),
      { numRuns: 500 * effort }
    )
  })
})
