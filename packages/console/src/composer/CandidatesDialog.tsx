/**
 * Choice of several agents for one task: two to five, each with a model. Two equal ones are refused here, before the Hub does.
 *
 * Does not: start them. The composer does, with the text that it has.
 */
import type { AgentId } from "@corral/domain/identity/Ids"
import type { Agent } from "@corral/domain/run/Agent"
import { useRef, useState } from "react"
import { useMessages } from "../text/Language.tsx"
import { FormDialog, type UserAction } from "../ui/Dialogs.tsx"
import { Icon } from "../ui/Icon.tsx"
import { candidateMessages } from "./candidateMessages.ts"
import { MODEL_PATTERN } from "./ModeAndModelChips.tsx"
import { composerMessages } from "./messages.ts"
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
