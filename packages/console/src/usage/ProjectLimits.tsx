/**
 * Limits of a project per day: for everyone together, for each person and for single persons, with what is used of them today. Admins set, change
 * and remove them here, with the budget that a run without one reserves, and the time zone of the days.
 */
import type { ProjectId, UserId } from "@corral/domain/identity/Ids"
import { costText, countText } from "@corral/domain/run/UsageText"
import type { LimitUse, ProjectLimit, ProjectLimits as Limits } from "@corral/domain/usage/Limit"
import { useQuery, useQueryClient } from "@tanstack/react-query"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { hubApi } from "../api/Hub.ts"
import { isAtLeast, useProjects } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import { formatPointInTime } from "../text/Duration.ts"
import { type Language, sentenceSpace, useLanguage, useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/Dialogs.tsx"
import { type Amounts, RunBudgetDialog, SetLimitDialog } from "./LimitDialogs.tsx"
import { projectLimitMessages, usageMessages } from "./messages.ts"
import "./usage.css"

/** Use grows while runs work. */
const EVERY_MS = 15_000

/** The limits of a project and their use today. Nothing without a project. */
export const useProjectLimits = (id: ProjectId | undefined) =>
  useQuery({
    queryKey: ["usage", "limits", id],
    queryFn: ({ signal }) => hubApi.usage.limits({ params: { id: id ?? ("" as ProjectId) }, signal }),
    refetchInterval: ({ state }) =>
      (state.data?.today ?? []).some(({ reserved }) => reserved.costUsd + reserved.tokens > 0)
        ? EVERY_MS
        : false,
    enabled: id !== undefined
  })

/** The amounts as texts: the cost, then the tokens. */
const amountTexts = ({ costUsd, tokens }: Amounts, language: Language): ReadonlyArray<string> => [
  ...(costUsd === undefined ? [] : [costText(costUsd)]),
  ...(tokens === undefined ? [] : [projectLimitMessages[language].tokens(countText(tokens))])
]

const tones = { near: "wait", reached: "bad" } as const
const shapes = { near: "◆", reached: "■" } as const

interface MeterProps {
  readonly limit: number
  readonly used: number
  readonly reserved: number
  readonly format: (amount: number) => string
  /** The limit, with its unit. */
  readonly limitText: string
}

/** What is used and reserved of one amount, as a bar and in words. */
const Meter = ({ format, limit, limitText, reserved, used }: MeterProps) => {
  const messages = useMessages(projectLimitMessages)
  const percent = (amount: number) => Math.min(100, (100 * amount) / limit)
  const text = [
    messages.used(format(used), limitText),
    ...(reserved > 0 ? [messages.reserved(format(reserved))] : [])
  ].join(" · ")
  return (
    <div className="limit-meter">
      <svg width="100%" height="8" aria-hidden="true">
        <rect className="limit-ground" width="100%" height="8" rx="4" />
        <rect className="limit-reserved" width={`${percent(used + reserved)}%`} height="8" rx="4" />
        <rect
          className={used >= limit ? "limit-full" : "plot-plain"}
          width={`${percent(used)}%`}
          height="8"
          rx="4"
        />
      </svg>
      <span>{text}</span>
    </div>
  )
}

/** Use of a limit today. `isNamed`: with the name of the person. */
const Use = ({ isNamed, use }: { readonly use: LimitUse; readonly isNamed: boolean }) => {
  const messages = useMessages(projectLimitMessages)
  const { you } = useMessages(usageMessages)
  const { user } = useCurrentUser()
  const { limit, name, reserved, state, subject, used } = use
  const person = visibleLine(name ?? "", 80)
  const { costUsd, tokens } = limit
  return (
    <li className="limit-use">
      {(isNamed || state !== "open") && (
        <p>
          {isNamed && <bdi>{subject === user.id ? `${person} (${you})` : person}</bdi>}{" "}
          {state !== "open" && (
            <span className={`badge ${tones[state]}`} data-shape={shapes[state]}>
              {messages.states[state]}
            </span>
          )}
        </p>
      )}
      {costUsd !== undefined && (
        <Meter
          limit={costUsd}
          limitText={costText(costUsd)}
          used={used.costUsd}
          reserved={reserved.costUsd}
          format={costText}
        />
      )}
      {tokens !== undefined && (
        <Meter
          limit={tokens}
          limitText={messages.tokens(countText(tokens))}
          used={used.tokens}
          reserved={reserved.tokens}
          format={countText}
        />
      )}
    </li>
  )
}

const useLimitName = (): ((limit: Pick<ProjectLimit, "name" | "subject">) => string) => {
  const messages = useMessages(projectLimitMessages)
  const { unknownPerson } = useMessages(usageMessages)
  return ({ name, subject }) => {
    if (subject === "everyone") return messages.everyone
    if (subject === "each") return messages.each
    return name === undefined ? unknownPerson : visibleLine(name, 80)
  }
}

interface LimitRowProps {
  readonly limits: Limits
  readonly limit: ProjectLimit
  readonly isAdmin: boolean
  readonly onChanged: () => Promise<unknown>
}

/** Persons of a limit that are shown without a click: those who have used most. */
const SHOWN = 5

const Uses = ({ isNamed, uses }: { readonly uses: ReadonlyArray<LimitUse>; readonly isNamed: boolean }) => (
  <ul className="limit-uses">
    {uses.map((use) => (
      <Use key={use.subject} use={use} isNamed={isNamed} />
    ))}
  </ul>
)

/** Largest share of a limit that is used. */
const shareOf = ({ limit, used }: LimitUse): number =>
  Math.max(
    ...(["costUsd", "tokens"] as const).map((name) => {
      const of = limit[name]
      return of === undefined ? 0 : used[name] / of
    })
  )

/** Uses of today that a limit is for, the most used first: those of the persons without a separate one for the limit of each person. */
const usesOf = ({ subject }: ProjectLimit, { limits, today }: Limits): ReadonlyArray<LimitUse> => {
  if (subject !== "each") return today.filter((use) => use.subject === subject)
  const separate = new Set<UserId | "everyone" | "each">(limits.map((limit) => limit.subject))
  return today
    .filter((use) => use.subject !== "everyone" && !separate.has(use.subject))
    .toSorted((a, b) => shareOf(b) - shareOf(a))
}

const LimitRow = ({ isAdmin, limit, limits, onChanged }: LimitRowProps) => {
  const messages = useMessages(projectLimitMessages)
  const { language } = useLanguage()
  const name = useLimitName()(limit)
  const uses = usesOf(limit, limits)
  const { subject } = limit
  const remove = async (): Promise<void> => {
    await hubApi.usage.removeLimit({ params: { id: limits.projectId, subject } })
    await onChanged()
  }
  return (
    <li className="limit">
      <div className="limit-head">
        <div className="row-main">
          <strong>
            <bdi>{name}</bdi>
          </strong>{" "}
          <span>{messages.aDay(amountTexts(limit, language))}</span>
          {subject === "each" && <p className="quiet">{messages.eachHint}</p>}
        </div>
        {isAdmin && (
          <div className="row-side">
            <SetLimitDialog
              limits={limits}
              limit={limit}
              name={name}
              onChanged={onChanged}
              trigger={messages.change}
              triggerClass="quiet-button"
            />
            <ConfirmDialog
              trigger={messages.remove}
              triggerClass="quiet-button"
              title={messages.removeTitle(name)}
              confirm={messages.remove}
              onConfirm={remove}
            >
              {messages.removeText}
            </ConfirmDialog>
          </div>
        )}
      </div>
      {uses.length === 0 ? (
        <p className="quiet">{messages.nothingUsed}</p>
      ) : (
        <Uses uses={uses.slice(0, SHOWN)} isNamed={subject === "each"} />
      )}
      {uses.length > SHOWN && (
        <details>
          <summary>{messages.others(uses.length - SHOWN)}</summary>
          <Uses uses={uses.slice(SHOWN)} isNamed />
        </details>
      )}
    </li>
  )
}

const order = ({ subject }: ProjectLimit): number => (subject === "everyone" ? 0 : subject === "each" ? 1 : 2)

/** Limits of the project, or a sentence that one has to be chosen. */
export const ProjectLimits = ({ limits }: { readonly limits: Limits | undefined }) => {
  const messages = useMessages(projectLimitMessages)
  const { language } = useLanguage()
  const client = useQueryClient()
  const projects = useProjects()
  const onChanged = () =>
    Promise.all(["usage", "projects"].map((group) => client.invalidateQueries({ queryKey: [group] })))
  if (limits === undefined)
    return (
      <section aria-label={messages.title}>
        <h2>{messages.title}</h2>
        <p className="quiet">{messages.chooseProject}</p>
      </section>
    )
  const { dayEndsAt, limits: rows, projectId, runBudget = {}, timeZone } = limits
  const role = projects.find(({ id }) => id === projectId)?.role ?? "viewer"
  const isAdmin = isAtLeast(role, "admin")
  const reserved = amountTexts(runBudget, language)
  const end = formatPointInTime(new Date(dayEndsAt), new Date(), language)
  return (
    <section className="limits" aria-label={messages.title}>
      <h2>{messages.title}</h2>
      <p className="quiet">
        {[
          messages.hint,
          messages.zone(timeZone, end),
          ...(reserved.length === 0 ? [] : [messages.runBudgetIs(reserved)])
        ].join(sentenceSpace[language])}
      </p>
      {rows.length === 0 ? (
        <p className="empty">{messages.none}</p>
      ) : (
        <ul className="rows" aria-label={messages.title}>
          {rows
            .toSorted((a, b) => order(a) - order(b))
            .map((limit) => (
              <LimitRow key={limit.subject} {...{ isAdmin, limit, limits, onChanged }} />
            ))}
        </ul>
      )}
      {isAdmin && (
        <div className="form-actions">
          <SetLimitDialog
            limits={limits}
            onChanged={onChanged}
            trigger={messages.set}
            triggerClass="button"
          />
          <RunBudgetDialog limits={limits} onChanged={onChanged} />
        </div>
      )}
    </section>
  )
}
