/** Dialogs for the limits of a project: one limit with the run budget that it needs, and the time zone of the days with the run budget. */
import type { UserId } from "@corral/domain/identity/Ids"
import type { Budget } from "@corral/domain/run/Budget"
import type { LimitSubject, ProjectLimit, ProjectLimits } from "@corral/domain/usage/Limit"
import { useId, useMemo, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useMembers } from "../api/ProjectsAndTargets.ts"
import { CostInput, CountInput } from "../composer/TurnLimits.tsx"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { FormDialog } from "../ui/Dialogs.tsx"
import { Field, numberIn, textIn } from "../ui/Field.tsx"
import { projectLimitMessages } from "./messages.ts"
import "../composer/composer.css"

/** Amounts of a limit or a budget. Those that are absent are not limited. */
export interface Amounts {
  readonly costUsd?: number
  readonly tokens?: number
}

const amountsIn = (form: FormData, cost: string, tokens: string): Amounts => {
  const [costUsd, count] = [numberIn(form, cost), numberIn(form, tokens)]
  return {
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(count === undefined ? {} : { tokens: count })
  }
}

/** The run budget with the amounts of the form. Its other limits stay. `null`: nothing is left of it. */
const runBudgetIn = (form: FormData, { turns, wallMs }: Budget = {}): Budget | null => {
  const budget: Budget = {
    ...(turns === undefined ? {} : { turns }),
    ...(wallMs === undefined ? {} : { wallMs }),
    ...amountsIn(form, "runCost", "runTokens")
  }
  return Object.keys(budget).length === 0 ? null : budget
}

interface RunBudgetFieldsProps {
  readonly budget: Budget | undefined
  /** Limits that need the amount. */
  readonly needs: { readonly cost: boolean; readonly tokens: boolean }
}

/** What a run without a budget reserves. */
const RunBudgetFields = ({ budget = {}, needs }: RunBudgetFieldsProps) => {
  const messages = useMessages(projectLimitMessages)
  return (
    <fieldset className="limit-fields">
      <legend>{messages.runBudget}</legend>
      <Field label={messages.runCost}>
        <CostInput name="runCost" value={budget.costUsd} required={needs.cost} />
      </Field>
      <Field label={messages.runTokens}>
        <CountInput name="runTokens" value={budget.tokens} required={needs.tokens} />
      </Field>
      <p className="quiet">{messages.runBudgetHint}</p>
    </fieldset>
  )
}

interface DialogProps {
  readonly limits: ProjectLimits
  readonly onChanged: () => Promise<unknown>
}

interface SetLimitProps extends DialogProps {
  /** The limit that is changed. Absent for a new one. */
  readonly limit?: ProjectLimit
  /** Name of its subject. */
  readonly name?: string
  readonly trigger: string
  readonly triggerClass: string
}

/** Choice of whom a new limit is for: those who have none yet come first. */
const SubjectField = ({ limits: { limits, projectId } }: Pick<DialogProps, "limits">) => {
  const messages = useMessages(projectLimitMessages)
  const members = useMembers(projectId)
  const taken = new Set<LimitSubject>(limits.map(({ subject }) => subject))
  const first = (["everyone", "each"] as const).find((subject) => !taken.has(subject)) ?? "everyone"
  return (
    <Field label={messages.forWhom}>
      <select name="subject" defaultValue={first}>
        <option value="everyone">{messages.everyone}</option>
        <option value="each">{messages.each}</option>
        {members.map(({ name, userId }) => (
          <option key={userId} value={userId}>
            {visibleLine(name, 80)}
          </option>
        ))}
      </select>
    </Field>
  )
}

/** Amounts of the limit. One of the two is required, and each needs the run budget of its kind. */
const LimitAmounts = ({
  budget,
  limit = {}
}: {
  readonly limit?: Amounts
  readonly budget: Budget | undefined
}) => {
  const messages = useMessages(projectLimitMessages)
  const [set, setSet] = useState({ cost: limit.costUsd !== undefined, tokens: limit.tokens !== undefined })
  return (
    <>
      <fieldset
        className="limit-fields"
        onInput={({ currentTarget }) => {
          const isFilled = (name: string) =>
            currentTarget.querySelector<HTMLInputElement>(`[name=${name}]`)?.value !== ""
          setSet({ cost: isFilled("cost"), tokens: isFilled("tokens") })
        }}
      >
        <legend className="hidden">{messages.setTitle}</legend>
        <Field label={messages.cost}>
          <CostInput name="cost" value={limit.costUsd} required={!set.tokens} />
        </Field>
        <Field label={messages.tokensADay}>
          <CountInput name="tokens" value={limit.tokens} required={!set.cost} />
        </Field>
        <p className="quiet">{messages.oneNeeded}</p>
      </fieldset>
      <RunBudgetFields budget={budget} needs={set} />
    </>
  )
}

const hasSameAmounts = (a: Amounts, b: Amounts): boolean => a.costUsd === b.costUsd && a.tokens === b.tokens

export const SetLimitDialog = ({ limit, limits, name, onChanged, trigger, triggerClass }: SetLimitProps) => {
  const messages = useMessages(projectLimitMessages)
  const { projectId: id, runBudget } = limits
  const save = async (form: FormData): Promise<void> => {
    const changed = runBudgetIn(form, runBudget)
    // First, because the limit needs it.
    if (!hasSameAmounts(changed ?? {}, runBudget ?? {}))
      await hubApi.projects.update({ params: { id }, payload: { runBudget: changed } })
    // The choice has subjects only.
    const subject = limit?.subject ?? (textIn(form, "subject") as UserId)
    await hubApi.usage.setLimit({ params: { id, subject }, payload: amountsIn(form, "cost", "tokens") })
    await onChanged()
  }
  return (
    <FormDialog
      trigger={trigger}
      triggerClass={triggerClass}
      title={name === undefined ? messages.setTitle : `${messages.setTitle} · ${name}`}
      submit={messages.save}
      onSubmit={save}
    >
      {limit === undefined && <SubjectField limits={limits} />}
      <LimitAmounts budget={runBudget} {...(limit === undefined ? {} : { limit })} />
    </FormDialog>
  )
}

const timeZones = (): ReadonlyArray<string> => Intl.supportedValuesOf("timeZone")

const TimeZoneField = ({ timeZone }: Pick<ProjectLimits, "timeZone">) => {
  const messages = useMessages(projectLimitMessages)
  const list = useId()
  const zones = useMemo(timeZones, [])
  return (
    <>
      <Field label={messages.timeZone} hint={messages.timeZoneHint}>
        <input
          name="timeZone"
          list={list}
          required
          maxLength={64}
          defaultValue={timeZone}
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
      <datalist id={list}>
        {zones.map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </>
  )
}

export const RunBudgetDialog = ({ limits, onChanged }: DialogProps) => {
  const messages = useMessages(projectLimitMessages)
  const { limits: rows, projectId: id, runBudget, timeZone } = limits
  const save = async (form: FormData): Promise<void> => {
    const payload = { timeZone: textIn(form, "timeZone"), runBudget: runBudgetIn(form, runBudget) }
    await hubApi.projects.update({ params: { id }, payload })
    await onChanged()
  }
  return (
    <FormDialog trigger={messages.settings} title={messages.settings} submit={messages.save} onSubmit={save}>
      <TimeZoneField timeZone={timeZone} />
      <RunBudgetFields
        budget={runBudget}
        needs={{
          cost: rows.some(({ costUsd }) => costUsd !== undefined),
          tokens: rows.some(({ tokens }) => tokens !== undefined)
        }}
      />
    </FormDialog>
  )
}
