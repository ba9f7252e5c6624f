/** Agent, mode, model and limits of the next message of a session, as its device offers them now. */
import type { Target } from "@corral/domain/device/Device"
import type { AgentInstanceId } from "@corral/domain/identity/Ids"
import { findAgent } from "@corral/domain/offer/Offer"
import { limitsOfTurn } from "@corral/domain/run/Budget"
import type { SetLimits } from "@corral/domain/run/LimitText"
import type { RunMode } from "@corral/domain/run/Run"
import type { Session } from "@corral/domain/session/Session"
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { targetsQuery } from "../api/ProjectsAndTargets.ts"
import { startModes } from "../start/Offer.ts"
import type { MentionPlace } from "./MentionList.tsx"

/** What the user chose for the next message. Absent parts are those of the session and its agent. */
export interface MessageChoice {
  readonly to?: AgentInstanceId | "people"
  readonly mode?: RunMode
  readonly model?: string | undefined
  readonly limits?: SetLimits
}

const noTargets: { readonly items: ReadonlyArray<Target> } = { items: [] }

export type Recipient = ReturnType<typeof useRecipient>

export const useRecipient = ({ agents: all, defaultAgentInstanceId, projectId }: Session) => {
  // Closed ones receive nothing.
  const agents = all.filter(({ closedAt }) => closedAt === undefined)
  const { data: { items: targets } = noTargets, isPending } = useQuery(targetsQuery(projectId))
  const [choice, setChoice] = useState<MessageChoice>({})
  const isNote = choice.to === "people" || agents.length === 0
  const agent = isNote
    ? undefined
    : (agents.find(({ id }) => id === choice.to) ?? agents.find(({ id }) => id === defaultAgentInstanceId))
  const target = targets.find(({ id }) => id === agent?.targetId)
  const offered = findAgent(target?.agents, agent?.agentId)
  const workspace = target?.workspaces.find(({ id }) => id === agent?.workspace)
  const offeredModes = startModes(workspace, offered)
  const modes = offeredModes.length > 0 || agent === undefined ? offeredModes : [agent.mode]
  const mode = modes.find((each) => each === choice.mode) ?? agent?.mode
  const isOffline = target !== undefined && target.state !== "online"
  const place: MentionPlace | "loading" | undefined =
    agent === undefined || target === undefined
      ? isPending && agent !== undefined
        ? "loading"
        : undefined
      : {
          projectId,
          targetId: target.id,
          workspace: agent.workspace,
          targetName: target.name,
          isOnline: !isOffline
        }
  return {
    agent,
    target,
    workspace,
    offered,
    modes,
    mode,
    model: choice.model ?? agent?.model,
    place,
    isNote,
    isOffline,
    isDefault: agent?.id === defaultAgentInstanceId,
    /** Whether the agent accepts a message while it works. */
    takesInput: offered?.capabilities.input === true,
    choice,
    /** Another agent has its own mode, model and limits. */
    chooseAgent: (to: AgentInstanceId | "people") => setChoice({ to }),
    chooseMode: (next: RunMode) => setChoice({ ...choice, mode: next }),
    chooseModel: (model: string | undefined) => setChoice({ ...choice, model }),
    chooseLimits: (limits: SetLimits) => setChoice({ ...choice, limits })
  }
}

/** Fields of a message with this choice. */
export const choiceFields = ({ choice, isOffline }: Recipient) => ({
  ...(choice.to === undefined ? {} : { to: choice.to }),
  ...(choice.mode === undefined ? {} : { mode: choice.mode }),
  ...(choice.model === undefined ? {} : { model: choice.model }),
  ...limitsOfTurn(choice.limits ?? {}, {}),
  ...(isOffline ? { onOffline: "queue" as const } : {})
})
