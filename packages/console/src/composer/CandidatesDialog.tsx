/**
 * A task for several agents: the choice of two to five, each with a model, the modes that all of them have, and the mutation that starts them on the
 * text of a draft. Two equal ones are refused here, before the Hub does.
 *
 * Guarantees: a retry of the same task after a failure starts no agent twice.
 */
import type { Workspace } from "@corral/domain/device/Workspace"
import type { AgentId, DeviceId, ProjectId, SessionId, WorkspaceId } from "@corral/domain/identity/Ids"
import { findAgent, modesIn } from "@corral/domain/offer/Offer"
import type { Agent } from "@corral/domain/run/Agent"
import type { SetLimits } from "@corral/domain/run/LimitText"
import type { Isolation, RunMode } from "@corral/domain/run/Run"
import type { Task } from "@corral/domain/task/Task"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useRef, useState } from "react"
import { hubApi, messageLimit, useIdempotencyKey } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { FormDialog, type UserAction } from "../ui/Dialogs.tsx"
import { Icon } from "../ui/Icon.tsx"
import { type Draft, useDraftFiles } from "./Draft.ts"
import { MODEL_PATTERN } from "./Chip.tsx"
import { draftContent } from "./SendMessage.tsx"
import { candidateMessages, composerMessages } from "./messages.ts"
import "./composer.css"

export const MIN_CANDIDATES = 2
export const MAX_CANDIDATES = 5

/** One of several agents that do the same task. Without a model, it uses its default one. */
export interface CandidateChoice {
  readonly agentId: AgentId
  readonly model?: string
}

interface CandidateRow {
  readonly key: number
  readonly agentId: AgentId
  readonly model: string
}

const choiceOf = ({ agentId, model }: CandidateRow): CandidateChoice => {
  const name = model.trim()
  return name === "" ? { agentId } : { agentId, model: name }
}

/** Whether two of them are the same agent with the same model. Pure. */
export const hasEqualCandidates = (candidates: ReadonlyArray<CandidateChoice>): boolean =>
  new Set(candidates.map(({ agentId, model = "" }) => `${agentId} ${model}`)).size < candidates.length

/** The agents that the dialog offers first: the chosen ones, or the current agent and the next one. Pure. */
export const firstCandidates = (
  chosen: ReadonlyArray<CandidateChoice>,
  current: CandidateChoice | undefined,
  agents: ReadonlyArray<Pick<Agent, "id">>
): ReadonlyArray<CandidateChoice> => {
  if (chosen.length > 0) return chosen
  const first = current ?? agents[0]
  if (first === undefined) return []
  const one: CandidateChoice = "agentId" in first ? first : { agentId: first.id }
  const other = agents.find(({ id }) => id !== one.agentId)?.id ?? one.agentId
  return [one, { agentId: other }]
}

interface RowProps {
  readonly row: CandidateRow
  /** From 1. */
  readonly number: number
  readonly agents: ReadonlyArray<Agent>
  readonly onChange: (row: CandidateRow) => void
  /** Absent while there are no more than two. */
  readonly onRemove: (() => void) | undefined
}

const Row = ({ agents, number, onChange, onRemove, row }: RowProps) => {
  const messages = useMessages(candidateMessages)
  const { defaultModel } = useMessages(composerMessages)
  const usual = agents.find(({ id }) => id === row.agentId)?.model
  return (
    <li className="candidate-row">
      <select
        aria-label={messages.agent(number)}
        value={row.agentId}
        onChange={({ currentTarget: { value } }) => {
          const agent = agents.find(({ id }) => id === value)
          // Another agent has other models.
          if (agent !== undefined) onChange({ ...row, agentId: agent.id, model: "" })
        }}
      >
        {agents.map(({ id, label }) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
      </select>
      <input
        aria-label={messages.model(number)}
        value={row.model}
        placeholder={usual ?? defaultModel}
        pattern={MODEL_PATTERN}
        maxLength={128}
        autoComplete="off"
        spellCheck={false}
        onChange={({ currentTarget: { value } }) => onChange({ ...row, model: value })}
      />
      <button
        type="button"
        className="icon-button"
        aria-label={messages.remove(number)}
        disabled={onRemove === undefined}
        onClick={onRemove}
      >
        <Icon name="close" size={14} />
      </button>
    </li>
  )
}

interface Props {
  readonly action: UserAction
  /** Agents that can run now. */
  readonly agents: ReadonlyArray<Agent>
  /** What is chosen. Empty: one agent. */
  readonly chosen: ReadonlyArray<CandidateChoice>
  /** The agent that is chosen alone. */
  readonly current: CandidateChoice | undefined
  readonly onChoose: (candidates: ReadonlyArray<CandidateChoice>) => void
}

const Fields = ({ agents, chosen, current, onRows }: Omit<Props, "action" | "onChoose"> & FieldProps) => {
  const messages = useMessages(candidateMessages)
  const [rows, setRows] = useState<ReadonlyArray<CandidateRow>>(() =>
    firstCandidates(chosen, current, agents).map(({ agentId, model = "" }, key) => ({ key, agentId, model }))
  )
  const nextKey = useRef(rows.length)
  const change = (next: ReadonlyArray<CandidateRow>) => {
    setRows(next)
    onRows(next.map(choiceOf))
  }
  const add = () => {
    const free = agents.find(({ id }) => rows.every(({ agentId }) => agentId !== id)) ?? agents[0]
    if (free !== undefined) change([...rows, { key: nextKey.current++, agentId: free.id, model: "" }])
  }
  const isEqual = hasEqualCandidates(rows.map(choiceOf))
  return (
    <>
      <ul className="candidate-rows">
        {rows.map((row, at) => (
          <Row
            key={row.key}
            row={row}
            number={at + 1}
            agents={agents}
            onChange={(changed) => change(rows.map((each) => (each.key === row.key ? changed : each)))}
            onRemove={
              rows.length <= MIN_CANDIDATES
                ? undefined
                : () => change(rows.filter(({ key }) => key !== row.key))
            }
          />
        ))}
      </ul>
      <button
        type="button"
        className="button small candidate-add"
        disabled={rows.length >= MAX_CANDIDATES}
        onClick={add}
      >
        <Icon name="plus" size={14} />
        {messages.add}
      </button>
      <p role="status" className="candidate-same">
        {isEqual ? messages.same : ""}
      </p>
    </>
  )
}

interface FieldProps {
  readonly onRows: (candidates: ReadonlyArray<CandidateChoice>) => void
}

export const CandidatesDialog = ({ action, agents, chosen, current, onChoose }: Props) => {
  const messages = useMessages(candidateMessages)
  const [edited, setEdited] = useState<ReadonlyArray<CandidateChoice>>()
  const candidates = edited ?? firstCandidates(chosen, current, agents)
  const opened: UserAction = {
    ...action,
    setOpen: (open) => {
      setEdited(undefined)
      action.setOpen(open)
    }
  }
  return (
    <FormDialog
      action={opened}
      title={messages.title}
      submit={messages.use(candidates.length)}
      isBlocked={hasEqualCandidates(candidates)}
      onSubmit={async () => {
        onChoose(candidates)
        setEdited(undefined)
      }}
    >
      <p>{messages.text}</p>
      <Fields {...{ agents, chosen, current }} onRows={setEdited} />
    </FormDialog>
  )
}

/** Where candidates write. They never write into the workspace itself. */
export const isolationOf = (
  chosen: Isolation | undefined,
  workspace: Pick<Workspace, "isolation"> | undefined
): Exclude<Isolation, "none"> => {
  const usual = chosen ?? workspace?.isolation ?? "none"
  return usual === "none" ? "overlay" : usual
}

/** Modes in which each of the agents runs, most restrictive first. Pure. */
export const commonModes = (
  workspace: Workspace | undefined,
  agents: ReadonlyArray<Agent>,
  candidates: ReadonlyArray<CandidateChoice>,
  isolation: Isolation
): ReadonlyArray<RunMode> =>
  (workspace?.modes ?? []).filter((mode) =>
    candidates.every(({ agentId }) => {
      const agent = findAgent(agents, agentId)
      return agent === undefined || modesIn(workspace ?? { modes: [] }, agent, isolation).includes(mode)
    })
  )

/** What the candidates receive besides the text. */
interface CandidateTask {
  readonly projectId: ProjectId
  readonly targetId: DeviceId
  readonly workspace: WorkspaceId
  readonly candidates: ReadonlyArray<CandidateChoice>
  readonly mode: RunMode
  readonly limits: SetLimits
  /** Absent: the project's or the workspace's. */
  readonly isolation?: Isolation | undefined
  /** Absent: a new session. */
  readonly sessionId?: SessionId
  /** Whether the task waits for its device. */
  readonly waits: boolean
}

/** Starts the candidates on the text of the draft, which is removed once the Hub has the task. */
export const useStartCandidates = (draft: Draft, onStarted: (task: Task) => void | Promise<void>) => {
  const client = useQueryClient()
  const headersOf = useIdempotencyKey()
  // The same text sent later is another task.
  const [nth, setNth] = useState(0)
  return useMutation({
    mutationFn: async ({ candidates, isolation, limits, waits, ...place }: CandidateTask) => {
      const { payload: content } = draftContent(draft)
      const [first] = candidates
      if (first === undefined) throw new Error("no candidates")
      const payload = {
        ...place,
        agentId: first.agentId,
        input: { text: content.text },
        candidates,
        ...limits,
        ...(isolation === undefined || isolation === "none" ? {} : { isolation }),
        ...(waits ? { onOffline: "queue" as const } : {})
      }
      const task = await hubApi.tasks.create({
        headers: headersOf({ nth, payload }),
        payload,
        ...messageLimit
      })
      draft.removeSent(content.text, [])
      return task
    },
    onSuccess: async (task) => {
      setNth((current) => current + 1)
      for (const group of ["sessions", "runs", "tasks"]) void client.invalidateQueries({ queryKey: [group] })
      await onStarted(task)
    }
  })
}

/** What happens to the text, or why it can't go to several agents. */
export const useCandidatesHint = (
  draft: Draft,
  candidates: ReadonlyArray<CandidateChoice>
): { readonly hint: string; readonly isBlocked: boolean } => {
  const messages = useMessages(candidateMessages)
  const hasFiles = useDraftFiles(draft).length > 0
  if (candidates.length === 0) return { hint: "", isBlocked: false }
  return hasFiles
    ? { hint: messages.noFiles, isBlocked: true }
    : { hint: messages.hint(candidates.length), isBlocked: false }
}
