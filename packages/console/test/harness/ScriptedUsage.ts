/** Usage and limits that a scripted Hub answers with: 90 days of runs of three people, with programs that report a cost, one that does not, and a subscription. */
import { limitStateOf, type ProjectLimit, type SetLimit, type UsedAmounts } from "@corral/domain/usage/Limit"
import { dimensionsOf, type UsageSums, dimensionColumns, sumColumns } from "@corral/domain/usage/UsageReport"
import { dayBefore, dayNear, daysFrom } from "../../src/usage/usageDays.ts"

const project = { projectId: "prj_01KAH2T3J0Q4W8XN5M7C1B0001", projectName: "Shop" }
const people = [
  { userId: "usr_01KAH2T3J0Q4W8XN5M7C1B0001", userName: "Ana Example" },
  { userId: "usr_01KAH2T3J0Q4W8XN5M7C1B0002", userName: "Bo Example" },
  { userId: "usr_01KAH2T3J0Q4W8XN5M7C1B0003", userName: "Cy Example" }
] as const

interface Source {
  readonly agentId: string
  readonly model: string | null
  /** US dollars for a thousand output tokens. */
  readonly price: number | undefined
  readonly isEstimated: boolean
}

const sources: ReadonlyArray<Source> = [
  { agentId: "claude", model: "claude-sonnet-4-5", price: 0.021, isEstimated: false },
  { agentId: "codex", model: "gpt-5.1-codex", price: 0.012, isEstimated: true },
  {
    agentId: "opencode",
    model: "qwen3-coder-480b-a35b-instruct-with-a-long-name",
    price: undefined,
    isEstimated: false
  },
  { agentId: "copilot", model: null, price: undefined, isEstimated: false }
]

type Run = UsageSums & Readonly<Record<string, unknown>>

/** Runs of a day: none on some days, and more in the middle of the week. */
const runsOf = (day: string, age: number): ReadonlyArray<Run> =>
  people.flatMap(({ userId, userName }, person) =>
    sources.flatMap(({ agentId, isEstimated, model, price }, source) => {
      const wave = (age * 7 + person * 5 + source * 3) % 11
      if (wave < 3 + source || age % 7 === 5) return []
      const outputTokens = 1_800 * wave * (4 - source) + 120 * person
      const inputTokens = outputTokens * 14
      const costUsd = price === undefined ? 0 : Math.round(price * outputTokens * 1_000) / 1_000_000
      return [
        {
          day,
          userId,
          userName,
          ...project,
          agentId,
          model,
          runs: 1,
          liveRuns: age === 0 && person === 0 && source === 0 ? 1 : 0,
          inputTokens,
          outputTokens,
          cachedInputTokens: Math.round(inputTokens * 0.8),
          reasoningTokens: Math.round(outputTokens * 0.2),
          turns: wave,
          costUsd,
          estimatedUsd: isEstimated ? costUsd : 0,
          runsWithoutCost: price === undefined ? 1 : 0
        }
      ]
    })
  )

const sumOf = (runs: ReadonlyArray<UsageSums>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    sumColumns.map((name) => [name, runs.reduce((sum, run) => Math.round((sum + run[name]) * 1e6) / 1e6, 0)])
  )

const projectPath = `/client/projects/${project.projectId}`

interface ChangedProject {
  readonly timeZone?: string
  readonly runBudget?: ScriptedUsage["runBudget"] | null
}

const none: UsedAmounts = { costUsd: 0, tokens: 0 }

export class ScriptedUsage {
  timeZone = "Europe/Berlin"
  runBudget: { readonly costUsd?: number; readonly tokens?: number } | undefined = { costUsd: 0.5 }
  limits: Array<Omit<ProjectLimit, "updatedAt">> = [
    { subject: "everyone", costUsd: 25, tokens: 40_000_000 },
    { subject: "each", costUsd: 10 }
  ]
  /** Use of today by subject. */
  readonly today: Record<string, { readonly used: UsedAmounts; readonly reserved: UsedAmounts }> = {
    everyone: { used: { costUsd: 20.61, tokens: 12_400_000 }, reserved: { costUsd: 1.5, tokens: 800_000 } },
    [people[0].userId]: { used: { costUsd: 3.2, tokens: 0 }, reserved: { costUsd: 1, tokens: 0 } },
    [people[1].userId]: { used: { costUsd: 10.08, tokens: 0 }, reserved: none },
    [people[2].userId]: { used: { costUsd: 7.33, tokens: 0 }, reserved: { costUsd: 0.5, tokens: 0 } }
  }
  /** No runs. */
  isEmpty = false

  serves(method: string, path: string): boolean {
    return (
      path === "/client/usage" ||
      path.startsWith(`${projectPath}/limits`) ||
      path === `${projectPath}/members` ||
      (path === projectPath && method === "PATCH")
    )
  }

  answer(
    method: string,
    path: string,
    query: URLSearchParams,
    body: unknown
  ): readonly [status: number, body: unknown] {
    if (path === "/client/usage") return [200, this.report(query)]
    if (path === projectPath) return [200, this.changeProject(body as ChangedProject)]
    if (path === `${projectPath}/members`)
      return [
        200,
        {
          items: people.map(({ userId, userName }) => ({
            userId,
            name: userName,
            role: "member",
            addedAt: "2026-01-01T00:00:00.000Z"
          })),
          nextCursor: null
        }
      ]
    const subject = path.split("/limits/")[1]
    if (subject === undefined) return [200, this.projectLimits()]
    this.limits = this.limits.filter((limit) => limit.subject !== subject)
    if (method === "DELETE") return [204, undefined]
    const person = people.find(({ userId }) => userId === subject)
    const limit = {
      subject,
      ...(person === undefined ? {} : { name: person.userName }),
      ...(body as SetLimit)
    } as ProjectLimit
    this.limits.push(limit)
    return [200, { ...limit, updatedAt: new Date().toISOString() }]
  }

  private changeProject({ runBudget, timeZone }: ChangedProject): object {
    if (timeZone !== undefined) this.timeZone = timeZone
    if (runBudget !== undefined) this.runBudget = runBudget ?? undefined
    return {}
  }

  private report(query: URLSearchParams): unknown {
    const to = query.get("to") ?? dayNear("UTC", Date.now())
    const from = query.get("from") ?? dayBefore(to, 29)
    const by = dimensionsOf(query.get("by") ?? "day")
    const days = this.isEmpty ? [] : daysFrom(from, to)
    const runs = days.flatMap((day, at) => runsOf(day, days.length - 1 - at))
    const names = by.flatMap((dimension) => dimensionColumns[dimension])
    const groups = Map.groupBy(runs, (run) => JSON.stringify(names.map((name) => run[name])))
    const sums = [...groups.values()].map((group) => ({ group, sum: sumOf(group) }))
    const sorted = by.includes("day")
      ? sums
      : sums.toSorted((a, b) => (b.sum["costUsd"] ?? 0) - (a.sum["costUsd"] ?? 0))
    const rows = sorted.map(({ group: [first], sum }) => ({
      ...Object.fromEntries(names.map((name) => [name, first?.[name]])),
      ...sum
    }))
    return { from, to, by, rows, total: sumOf(runs) }
  }

  private projectLimits(): unknown {
    const limits = this.limits.map((limit) => ({ ...limit, updatedAt: "2026-01-01T00:00:00.000Z" }))
    const limitOf = (subject: string) =>
      this.limits.find((limit) => limit.subject === subject) ??
      (subject === "everyone" ? undefined : this.limits.find((limit) => limit.subject === "each"))
    const today = Object.entries(this.today).flatMap(([subject, { reserved, used }]) => {
      const limit = limitOf(subject)
      if (limit === undefined) return []
      const { costUsd, tokens } = limit
      const amounts = {
        ...(costUsd === undefined ? {} : { costUsd }),
        ...(tokens === undefined ? {} : { tokens })
      }
      const name = people.find(({ userId }) => userId === subject)?.userName
      return [
        {
          subject,
          ...(name === undefined ? {} : { name }),
          limit: amounts,
          used,
          reserved,
          state: limitStateOf(amounts, used)
        }
      ]
    })
    return {
      projectId: project.projectId,
      timeZone: this.timeZone,
      day: dayNear(this.timeZone, Date.now()),
      dayEndsAt: new Date(Date.now() + 5 * 3_600_000).toISOString(),
      ...(this.runBudget === undefined ? {} : { runBudget: this.runBudget }),
      limits,
      today
    }
  }
}
