/**
 * Usage page: tokens and cost of the runs that the user may see, as figures, as a plot of the days and as a table by day, person, project, agent or
 * model, with its CSV; and the limits of a project. The choices are in the URL.
 */
import { pathOf } from "@corral/client/http/Endpoints"
import { hubPaths } from "@corral/client/hubPaths"
import type { ProjectId } from "@corral/domain/identity/Ids"
import { costText, countText } from "@corral/domain/run/UsageText"
import type { UsageDimension, UsageReport, UsageSums } from "@corral/domain/usage/UsageReport"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { hubApi } from "../api/Hub.ts"
import { projectsQuery, useProjects } from "../api/ProjectsAndTargets.ts"
import { useLanguage, useMessages } from "../text/Language.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Loading } from "../ui/ListStates.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { useToday } from "../ui/Time.tsx"
import { pickSearchParams } from "../ui/searchParams.ts"
import { Plot } from "./Plot.tsx"
import { ProjectLimits, useProjectLimits } from "./ProjectLimits.tsx"
import { costOfRuns, dayText, UsageTable } from "./UsageTable.tsx"
import { usageMessages } from "./messages.ts"
import { dayBefore, dayNear, tokensOf, usePerDay } from "./usageDays.ts"
import "./usage.css"

const dimensions: ReadonlyArray<UsageDimension> = ["day", "person", "project", "agent", "model"]
const periods = [7, 30, 90, 365] as const
const DEFAULT_DAYS = 30
const amounts = ["cost", "tokens", "runs"] as const
type Amount = (typeof amounts)[number]

const names = ["projectId", "by", "days", "plot"] as const

interface UsageSearch {
  readonly projectId?: string
  readonly by?: string
  readonly days?: string
  readonly plot?: string
}

/** The choices of a URL, which may contain anything. */
const choicesOf = ({ by, days, plot, projectId }: UsageSearch) => ({
  dimension: dimensions.find((each) => each === by) ?? "model",
  days: periods.find((each) => String(each) === days) ?? DEFAULT_DAYS,
  amount: amounts.find((each) => each === plot),
  projectId: projectId as ProjectId | undefined
})

/** Today in the project, or the latest today of all projects. */
const useLastDay = (projectId: ProjectId | undefined): string => {
  const projects = useProjects()
  // Changes with the day of the browser. The list changes more often.
  useToday()
  const shown = projects.filter(({ id }) => projectId === undefined || id === projectId)
  const zones = new Set(shown.map(({ timeZone }) => timeZone))
  const days = [...zones].map((zone) => dayNear(zone, Date.now()))
  return days.toSorted().at(-1) ?? dayNear(undefined, Date.now())
}

/** Figures of live runs grow. */
const EVERY_MS = 15_000

const useReport = (query: { readonly by: UsageDimension } & object, enabled: boolean) =>
  useQuery({
    queryKey: ["usage", "report", query],
    queryFn: ({ signal }) => hubApi.usage.report({ query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => ((state.data?.total.liveRuns ?? 0) > 0 ? EVERY_MS : false),
    enabled
  })

/** Totals: cost, tokens and runs. */
const Figures = ({ total }: { readonly total: UsageSums }) => {
  const messages = useMessages(usageMessages)
  const { cachedInputTokens, estimatedUsd, inputTokens, liveRuns, outputTokens, runs, runsWithoutCost } =
    total
  const input = countText(inputTokens)
  return (
    <dl className="usage-figures" aria-label={messages.figures}>
      <div>
        <dt>{messages.cost}</dt>
        <dd>
          {costOfRuns(total)}
          {estimatedUsd > 0 && (
            <span className="usage-note">{messages.estimatedOf(costText(estimatedUsd))}</span>
          )}
          {runsWithoutCost > 0 && (
            <span className="usage-note" title={messages.withoutPriceHint}>
              {messages.withoutPrice(runsWithoutCost)}
            </span>
          )}
        </dd>
      </div>
      <div>
        <dt>{messages.tokens}</dt>
        <dd>
          {countText(tokensOf(total))}
          <span className="usage-note">
            {cachedInputTokens > 0
              ? messages.inputOf(input, countText(cachedInputTokens))
              : messages.inputAlone(input)}
          </span>
          <span className="usage-note">{messages.outputOf(countText(outputTokens))}</span>
        </dd>
      </div>
      <div>
        <dt>{messages.runs}</dt>
        <dd>
          {runs.toLocaleString("en")}
          {liveRuns > 0 && <span className="usage-note">{messages.inProgress(liveRuns)}</span>}
        </dd>
      </div>
    </dl>
  )
}

const amountIn = (amount: Amount, sums: UsageSums): number =>
  amount === "cost" ? sums.costUsd : amount === "tokens" ? tokensOf(sums) : sums.runs

const amountText = (amount: Amount, value: number): string =>
  amount === "cost" ? costText(value) : countText(value)

interface DaysPlotProps {
  /** By day. */
  readonly report: UsageReport
  readonly amount: Amount
  readonly onAmount: (amount: Amount) => void
}

/** Plot of the days, with a choice of what it shows. */
const DaysPlot = ({ amount, onAmount, report: { from, rows, to, total } }: DaysPlotProps) => {
  const messages = useMessages(usageMessages)
  const { language } = useLanguage()
  const days = usePerDay(rows, from, to)
  const [first] = days
  const most = days.reduce(
    (a, b) => (amountIn(amount, b) > amountIn(amount, a) ? b : a),
    first ?? { ...total, day: to }
  )
  const caption = messages.plotCaptions[amount]
  const hasEstimates = amount === "cost" && total.estimatedUsd > 0
  return (
    <section className="usage-plot" aria-label={caption}>
      <div className="usage-plot-head" role="group" aria-label={messages.plotShows}>
        {amounts.map((each) => (
          <button
            key={each}
            type="button"
            className="button small"
            aria-pressed={each === amount}
            onClick={() => onAmount(each)}
          >
            {messages[each]}
          </button>
        ))}
      </div>
      <Plot
        caption={caption}
        label={messages.plotLabel(
          caption,
          days.length,
          amountText(amount, amountIn(amount, most)),
          dayText(most.day, language)
        )}
        isWhole={amount !== "cost"}
        formatTick={(tick) => amountText(amount, tick)}
        columns={days.map((use) => {
          const hatched = amount === "cost" ? use.estimatedUsd : 0
          return {
            key: use.day,
            label: dayText(use.day, language, true),
            plain: amountIn(amount, use) - hatched,
            hatched,
            text: messages.plotDay(
              dayText(use.day, language),
              costText(use.costUsd),
              countText(tokensOf(use)),
              messages.runsOf(use.runs)
            )
          }
        })}
      />
      {hasEstimates && (
        <p className="plot-legend">
          <span className="plot-key plot-key-plain">{messages.reported}</span>{" "}
          <span className="plot-key plot-key-hatched">{messages.estimated}</span>
        </p>
      )}
    </section>
  )
}

type Change = (change: UsageSearch) => void

/** Choices of the project, the time and what the table is by. */
const Choices = ({ onChange, search }: { readonly search: UsageSearch; readonly onChange: Change }) => {
  const messages = useMessages(usageMessages)
  const projects = useProjects()
  const { days, projectId } = choicesOf(search)
  return (
    <div className="usage-choices">
      {(projects.length > 1 || projectId !== undefined) && (
        <select
          className="short"
          aria-label={messages.project}
          value={projectId ?? ""}
          onChange={({ currentTarget: { value } }) => onChange({ projectId: value })}
        >
          <option value="">{messages.allProjects}</option>
          {projects.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
      <select
        className="short"
        aria-label={messages.period}
        value={days}
        onChange={({ currentTarget: { value } }) => onChange({ days: value })}
      >
        {periods.map((each) => (
          <option key={each} value={each}>
            {messages.lastDays(each)}
          </option>
        ))}
      </select>
    </div>
  )
}

const Grouping = ({
  dimension,
  onChange
}: {
  readonly dimension: UsageDimension
  readonly onChange: Change
}) => {
  const messages = useMessages(usageMessages)
  return (
    <div className="usage-grouping" role="group" aria-label={messages.groupedBy}>
      {dimensions.map((each) => (
        <button
          key={each}
          type="button"
          className="button small"
          aria-pressed={each === dimension}
          onClick={() => onChange({ by: each })}
        >
          {messages.dimensions[each]}
        </button>
      ))}
    </div>
  )
}

interface ReportProps {
  readonly byDay: UsageReport
  readonly report: UsageReport
  readonly search: UsageSearch
  readonly onChange: Change
  /** Between the plot and the table: a table of days is long. */
  readonly limits: ReactNode
}

const Report = ({ byDay, limits, onChange, report, search }: ReportProps) => {
  const messages = useMessages(usageMessages)
  const { amount, dimension } = choicesOf(search)
  const { total } = byDay
  if (total.runs === 0)
    return (
      <>
        <div className="empty">
          <p>{messages.none}</p>
          <p>{messages.noneHint}</p>
        </div>
        {limits}
      </>
    )
  return (
    <>
      <Figures total={total} />
      <DaysPlot
        report={byDay}
        amount={amount ?? (total.costUsd > 0 ? "cost" : "tokens")}
        onAmount={(plot) => onChange({ plot })}
      />
      {limits}
      <h2>{messages.table(messages.dimensions[dimension])}</h2>
      <Grouping dimension={dimension} onChange={onChange} />
      <UsageTable report={report} dimension={dimension} />
      {total.estimatedUsd > 0 && <p className="quiet">{messages.estimateNote}</p>}
    </>
  )
}

export const UsagePage = ({ search }: { readonly search: UsageSearch }) => {
  const messages = useMessages(usageMessages)
  const navigate = useNavigate({ from: "/usage" })
  const projects = useQuery(projectsQuery)
  const { days, dimension, projectId } = choicesOf(search)
  const last = useLastDay(projectId)
  const query = {
    from: dayBefore(last, days - 1),
    to: last,
    ...(projectId === undefined ? {} : { projectId })
  }
  // The days are those of the projects.
  const isReady = !projects.isLoading
  const byDay = useReport({ ...query, by: "day" }, isReady)
  const report = useReport({ ...query, by: dimension }, isReady)
  const [only] = projects.data?.items ?? []
  const limitsOf = projectId ?? (projects.data?.items.length === 1 ? only?.id : undefined)
  const limits = useProjectLimits(limitsOf)
  const onChange = (change: UsageSearch) =>
    void navigate({
      search: pickSearchParams(...names)({ ...search, ...change }),
      replace: true
    })
  const isLoading = byDay.data === undefined || report.data === undefined || limits.isLoading
  const error = byDay.error ?? report.error ?? limits.error
  return (
    <PageFrame
      title={messages.title}
      actions={
        <a
          className="button"
          href={pathOf(hubPaths.usage.csv[1], { query: { ...query, by: dimension } })}
          download
        >
          <Icon name="artifact" />
          {messages.download}
        </a>
      }
    >
      <p className="page-hint">{messages.hint}</p>
      <Choices search={search} onChange={onChange} />
      <RefusalNote error={error} />
      {isLoading && error === null && <Loading rows={9} />}
      {!isLoading && (
        <>
          <Report
            byDay={byDay.data}
            report={report.data}
            {...{ onChange, search }}
            limits={<ProjectLimits limits={limits.data} />}
          />
          <p className="quiet">{messages.localNote}</p>
        </>
      )}
    </PageFrame>
  )
}
