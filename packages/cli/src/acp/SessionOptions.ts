/** Choices of a session for its next messages, as modes and options of the Agent Client Protocol. */
import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk"
import type { RunMode } from "@corral/domain/approval/RunMode"
import type { AgentOption } from "../chat/ChatThread.ts"

const modeTexts: Readonly<Record<RunMode, readonly [name: string, description: string]>> = {
  read_only: ["Read only", "The agent reads and changes nothing"],
  plan: ["Plan", "The agent reads, and hands over a plan"],
  ask: ["Ask", "The agent asks before each risky action"],
  auto_edit: ["Edit automatically", "The agent edits files of the workspace without asking"],
  full_access: ["Full access", "The agent does everything without asking"]
}

export const modeState = (current: RunMode, modes: ReadonlyArray<RunMode>): SessionModeState => ({
  currentModeId: current,
  availableModes: [...new Set([...modes, current])].map((id) => {
    const [name, description] = modeTexts[id]
    return { id, name, description }
  })
})

/** The model that the agent chooses itself. */
export const DEFAULT_MODEL = "default"

export interface SessionChoices {
  readonly mode: RunMode
  readonly modes: ReadonlyArray<RunMode>
  readonly model: string | undefined
  /** Models that the editor offers. */
  readonly models: ReadonlyArray<string>
  readonly agents: ReadonlyArray<AgentOption>
}

export const configOptions = ({
  agents,
  mode,
  model,
  models,
  modes
}: SessionChoices): Array<SessionConfigOption> => {
  const { availableModes, currentModeId } = modeState(mode, modes)
  const current = agents.find(({ isCurrent }) => isCurrent)
  const names = [...new Set([DEFAULT_MODEL, ...models, ...(model === undefined ? [] : [model])])]
  return [
    {
      type: "select",
      id: "mode",
      name: "Mode",
      category: "mode",
      currentValue: currentModeId,
      options: availableModes.map(({ description = null, id, name }) => ({ value: id, name, description }))
    },
    {
      type: "select",
      id: "model",
      name: "Model",
      category: "model",
      currentValue: model ?? DEFAULT_MODEL,
      options: names.map((value) => ({ value, name: value }))
    },
    ...(current === undefined
      ? []
      : [
          {
            type: "select",
            id: "agent",
            name: "Agent",
            category: "_corral_agent",
            currentValue: current.id,
            options: agents.map(({ about, id, name }) => ({ value: id, name, description: about }))
          } as const
        ])
  ]
}
