/** Table of a usage report: one row for each day, person, project, agent or model, its share of the largest row, and the total. */
import type { UserId } from "@corral/domain/identity/Ids"
import { costText, countText } from "@corral/domain/run/UsageText"
import type { UsageDimension, UsageReport, UsageRow, UsageSums } from "@corral/domain/usage/UsageReport"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { useTargets } from "../api/ProjectsAndTargets.ts"
import { visibleLine } from "../markdown/visible.ts"
import { type Language, useLanguage, useMessages } from "../text/Language.tsx"
import { usageMessages } from "./messages.ts"
import { tokensOf } from "./usageDays.ts"
import "./usage.css"

/** `Sat, 29 Nov`. */
export const dayText = (day: string, language: Language, isShort = false): string =>
  new Date(`${day}T12:00:00Z`).toLocaleDateString(language === "zh" ? "zh-CN" : "en-GB", {
    timeZone: "UTC",
    month: "short",
    day: "numeric",
    ...(isShort ? {} : { weekday: "short" })
  })

/** Name of an agent: as a device offers it, otherwise its id. */
const useAgentLabel = (): ((id: string) => string) => {
  const targets = useTargets()
  return (id) =>
    targets.flatMap(({ agents }) => agents).find((agent) => agent.id === id)?.label ?? visibleLine(id, 60)
}

/** Name of a row by what rows are summed by. */
const useRowName = (dimension: UsageDimension): ((row: UsageRow) => string) => {
  const messages = useMessages(usageMessages)
  const { language } = useLanguage()
  const { user } = useCurrentUser()
  const labelOf = useAgentLabel()
  const personOf = (id: UserId | undefined, name: string | undefined) => {
    const shown = name === undefined ? messages.unknownPerson : visibleLine(name, 80)
    return id === user.id ? `${shown} (${messages.you})` : shown
  }
  return ({ agentId, day, model, projectName, userId, userName }) => {
    switch (dimension) {
      case "day":
        return day === undefined ? "" : dayText(day, language)
      case "person":
        return personOf(userId, userName)
      case "project":
        return projectName === undefined ? messages.unknownProject : visibleLine(projectName, 80)
      case "agent":
        return agentId === undefined ? "" : labelOf(agentId)
      case "model":
        return typeof model === "string" ? visibleLine(model, 80) : messages.noModel
    }
  }
}

/** The cost of runs. Runs without a price have no cost, which is not a cost of zero. */
export const costOfRuns = ({ costUsd, runs, runsWithoutCost }: UsageSums): string =>
  costUsd === 0 && runs > 0 && runsWithoutCost === runs ? "–" : costText(costUsd)

/** Cells of the figures of a row. A narrow table has the tokens in one column, and a sign where a cost is an estimate. */
const FigureCells = ({ sums }: { readonly sums: UsageSums }) => {
  const messages = useMessages(usageMessages)
  const { estimatedUsd, inputTokens, outputTokens, runs, runsWithoutCost } = sums
  const exact = (count: number) => count.toLocaleString("en")
  const isEstimated = estimatedUsd > 0
  return (
    <>
      <td className="usage-figure">{exact(runs)}</td>
      <td className="usage-figure usage-wide" title={exact(inputTokens)}>
        {countText(inputTokens)}
      </td>
      <td className="usage-figure usage-wide" title={exact(outputTokens)}>
        {countText(outputTokens)}
      </td>
      <td className="usage-figure usage-narrow" title={exact(tokensOf(sums))}>
        {countText(tokensOf(sums))}
      </td>
      <td className="usage-figure">
        {isEstimated && (
          <span className="usage-sign" title={messages.estimatedOf(costText(estimatedUsd))}>
            <span aria-hidden="true">≈ </span>
            <span className="hidden">{messages.estimatedOf(costText(estimatedUsd))} </span>
          </span>
        )}
        {costOfRuns(sums)}
      </td>
      <td className="usage-figure usage-wide">{isEstimated ? costText(estimatedUsd) : ""}</td>
      <td className="usage-figure usage-wide">{runsWithoutCost > 0 ? exact(runsWithoutCost) : ""}</td>
    </>
  )
}

/** A line as long as the share of an amount. */
const Share = ({ of, value }: { readonly of: number; readonly value: number }) => (
  <svg className="usage-share" width="100%" height="3" aria-hidden="true">
    <rect className="plot-plain" width={`${of > 0 ? (100 * value) / of : 0}%`} height="3" />
  </svg>
)

interface UsageTableProps {
  readonly report: UsageReport
  readonly dimension: UsageDimension
}

export const UsageTable = ({ dimension, report: { rows, total, truncated } }: UsageTableProps) => {
  const messages = useMessages(usageMessages)
  const nameOf = useRowName(dimension)
  const name = messages.table(messages.dimensions[dimension])
  // The newest day is what people look for.
  const shown = dimension === "day" ? rows.toReversed() : rows
  const amountOf = (sums: UsageSums) => (total.costUsd > 0 ? sums.costUsd : tokensOf(sums))
  const most = Math.max(0, ...rows.map(amountOf))
  return (
    <>
      <div className="table-frame cut-sideways" role="region" aria-label={name} tabIndex={0}>
        <table className="usage-table">
          <thead>
            <tr>
              <th scope="col">{messages.dimensions[dimension]}</th>
              <th scope="col" className="usage-figure">
                {messages.runs}
              </th>
              <th scope="col" className="usage-figure usage-wide">
                {messages.input}
              </th>
              <th scope="col" className="usage-figure usage-wide">
                {messages.output}
              </th>
              <th scope="col" className="usage-figure usage-narrow">
                {messages.tokens}
              </th>
              <th scope="col" className="usage-figure">
                {messages.cost}
              </th>
              <th scope="col" className="usage-figure usage-wide">
                {messages.estimatedPart}
              </th>
              <th scope="col" className="usage-figure usage-wide" title={messages.withoutPriceHint}>
                {messages.unpriced}
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((row, at) => (
              <tr key={at}>
                <th scope="row">
                  <bdi>{nameOf(row)}</bdi>
                  <Share value={amountOf(row)} of={most} />
                </th>
                <FigureCells sums={row} />
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{messages.total}</th>
              <FigureCells sums={total} />
            </tr>
          </tfoot>
        </table>
      </div>
      {truncated === true && <p className="quiet">{messages.truncated}</p>}
    </>
  )
}
