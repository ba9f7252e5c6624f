/**
 * A hostile repository before the real programs: without a grant no file of it makes a runtime execute anything, in any mode. With the grant
 * something runs, so the traps work. What a program or a registry does not allow here is skipped, and says why.
 */
import type { ProjectSettingsReport } from "@corral/domain/run/ProjectSettings"
import type { RunMode } from "@corral/domain/run/Run"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { codeOf } from "@corral/testing/edge/EdgeClient"
import { registry } from "@corral/testing/recordings/Fixtures"
import { confinements, type DrivenConfinement } from "./Confinements.ts"
import { RIGHT_KEY } from "./FakeModels.ts"
import { DENIED, HostileRepository, INSTRUCTION } from "./HostileRepository.ts"
import { install } from "./Installation.ts"
import { programs } from "./Programs.ts"
import { promptFor } from "./Script.ts"
import { Stage, type StageOptions } from "./Stage.ts"

/** Not started at all where the files exist: they cannot be told to leave them out. */
const refused = new Set(["opencode", "opencode-acp", "gemini", "codex-acp", "copilot-acp", "kimi-acp", "pi"])
/** Decides by its own record of trusted folders, which no flag changes: the grant alone enables nothing. */
const trustsByItself = new Set(["kimi-acp"])
/** Those that know rules of the project by which something is denied. */
const keepsRules = new Set(["claude-code", "claude-agent-acp"])

const modes: ReadonlyArray<RunMode> = ["read_only", "plan", "ask", "auto_edit", "full_access"]
const prompts = [promptFor("edit", "README.md"), promptFor("run", "echo hello")] as const

const installed = []
for (const program of programs) installed.push(await install(program))
const report: Array<string> = []
afterAll(() => console.log(report.join("\n")))

interface Subject {
  readonly agentId: string
  readonly confinement: DrivenConfinement
  readonly place: (typeof installed)[number]
}

/** Programs that never ask have further modes where the kernel confines them. */
const confinementsOf = (agentId: string): ReadonlyArray<DrivenConfinement> =>
  registry.get(agentId)?.capabilities.approvals === false ? confinements : ["off"]

const subjects = installed.flatMap((place): ReadonlyArray<Subject> => {
  const { agents, alsoAs = [] } = place.program
  return [...agents.map(({ id }) => id), ...alsoAs].flatMap((agentId) =>
    confinementsOf(agentId).map((confinement) => ({ agentId, confinement, place }))
  )
})

const allow = () => "allow" as const

/** A file that a program of the run can write in every mode: a confined one writes nothing outside of the workspace but the runtime's state. */
const tracesOf = ({ agentId, confinement }: Subject, folder: string, home: string): string => {
  const state = registry.get(agentId)?.folders?.state?.[0]?.path
  if (confinement === "off" || state === undefined) return join(folder, "traces")
  mkdirSync(join(home, state), { recursive: true })
  return join(home, state, "traces")
}

describe.each(subjects)("a hostile repository and $agentId, confinement $confinement :", (subject) => {
  const { agentId, confinement, place } = subject
  const { missing } = place
  if (missing !== undefined) {
    console.log(`${agentId} is skipped: ${missing}`)
    it.skip(`is driven: ${missing}`)
    return
  }

  const open = async (grants: StageOptions["grants"] & {}) => {
    const repositories: Array<HostileRepository> = []
    const prepare: StageOptions["prepare"] = (edge, home) => {
      const repository = new HostileRepository(edge.workspace, tracesOf(subject, edge.folder, home))
      repository.plant()
      repositories.push(repository)
    }
    const stage = await Stage.open(place, agentId, RIGHT_KEY, { confinement, grants, prepare })
    const [repository] = repositories
    if (repository === undefined) throw new Error("the repository was not planted")
    const { body } = await stage.edge.client.ask("GET", "/v1/agents")
    const { items } = body as { readonly items: ReadonlyArray<{ id: string; modes: ReadonlyArray<RunMode> }> }
    const offered = items.find(({ id }) => id === agentId)?.modes ?? []
    // Such a program asks nothing, so `ask` needs a worktree. `full_access` is never confined.
    const isDriven = (mode: RunMode) => mode !== "ask" && mode !== "full_access"
    return { stage, repository, modes: confinement === "off" ? offered : offered.filter(isDriven) }
  }

  describe("without the grant", () => {
    let opened: Awaited<ReturnType<typeof open>>
    beforeAll(async () => {
      opened = await open(["full_access"])
    })
    afterAll(() => opened.stage.close())

    /** The files for which the Edge does not start the runtime; `undefined` where it did. */
    const refusedFor = async (mode: RunMode): Promise<ReadonlyArray<string> | undefined> => {
      const answer = await opened.stage.edge.client.tryCreate(prompts[0], mode, { agentId })
      if (answer.status !== 403) return undefined
      assert.strictEqual(codeOf(answer), "permission_denied", answer.text)
      const { details } = answer.body as { readonly details: Readonly<Record<string, unknown>> }
      assert.strictEqual(details["reason"], "project_settings", answer.text)
      return details["files"] as ReadonlyArray<string>
    }

    it.for(modes)("leaves no trace in %s", async (mode, { skip }) => {
      const { repository, stage } = opened
      if (!opened.modes.includes(mode)) return skip(`${agentId} is not driven in it`)
      if (refused.has(agentId)) {
        const files = await refusedFor(mode)
        assert.isAbove(files?.length ?? 0, 0, "it is refused, and the files are named")
        assert.deepStrictEqual(repository.ran, [])
        report.push(`${agentId}, confinement ${confinement}, ${mode}: refused, no trace`)
        return
      }
      for (const prompt of prompts) {
        const { modelRequests, events } = await stage.play(prompt, allow, mode)
        const started = events.find(({ type }) => type === "run.started")
        const reported = started?.payload["projectSettings"] as ProjectSettingsReport | undefined
        assert.strictEqual(reported?.use, "ignored")
        assert.isAbove(reported?.files.length ?? 0, 0)
        assert.isAbove(modelRequests.length, 0)
        for (const request of modelRequests)
          assert.include(request, INSTRUCTION, "the instruction file reaches the model")
      }
      assert.deepStrictEqual(repository.ran, [])
      report.push(`${agentId}, confinement ${confinement}, ${mode}: no trace`)
    })

    it.runIf(keepsRules.has(agentId))("keeps the project's deny rules", async () => {
      const { events } = await opened.stage.play(promptFor("read", DENIED), allow)
      const results = events.filter(({ type }) => type === "run.tool.result")
      assert.isAbove(results.length, 0)
      for (const { payload } of results) assert.notStrictEqual(payload["status"], "completed")
      assert.notInclude(JSON.stringify(events), "The secret of the ranch")
    })

    // Last: it removes the refused files. Code that runs from any other file would leave a trace here.
    it.runIf(refused.has(agentId)).for(modes)(
      "leaves no trace in %s without the files that are refused",
      async (mode, { skip }) => {
        const { repository, stage } = opened
        if (!opened.modes.includes(mode)) return skip(`${agentId} is not driven in it`)
        repository.remove((await refusedFor(mode)) ?? [])
        const ends = []
        for (const prompt of prompts) {
          const { modelRequests, end } = await stage.play(prompt, allow, mode)
          ends.push(`${end.type} after ${modelRequests.length} requests`)
        }
        assert.deepStrictEqual(repository.ran, [])
        report.push(
          `${agentId}, confinement ${confinement}, ${mode}, the rest of the repository: ${ends.join(", ")}, no trace`
        )
      }
    )
  })

  it.skipIf(trustsByItself.has(agentId))("with the grant, executes what the project says", async () => {
    const { modes: ownModes, repository, stage } = await open(["full_access", "project_settings"])
    try {
      const unconfined = ownModes.includes("full_access") ? "full_access" : "ask"
      const mode = confinement === "off" ? unconfined : "auto_edit"
      await stage.play(promptFor("edit", "README.md"), allow, mode).catch((cause: unknown) => {
        // A trap may break the program that runs it.
        report.push(`${agentId}, confinement ${confinement}, with the grant: ${String(cause).slice(0, 200)}`)
      })
      assert.isAbove(repository.ran.length, 0)
      report.push(
        `${agentId}, confinement ${confinement}, with the grant: ${repository.ran.length} of the repository's programs ran`
      )
    } finally {
      await stage.close()
    }
  })
})
