/**
 * Log of every statement that a PostgreSQL server executes, with its parameters: what no client can leave out. Also the parts of a statement's plan
 * that read or sort a whole table.
 *
 * Does not: keep long parameters. Those are cut, and the statement has no usable parameters then.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Client } from "pg"

/** Settings of a server that logs into that folder. */
export const statementLogSettings = (folder: string): ReadonlyArray<string> => {
  mkdirSync(folder, { recursive: true })
  // The server may run as another user.
  chmodSync(folder, 0o777)
  return [
    "logging_collector=on",
    "log_destination=jsonlog",
    `log_directory=${folder}`,
    "log_file_mode=0644",
    "log_rotation_size=0",
    "log_statement=all",
    "log_parameter_max_length=2000"
  ]
}

/** A statement as the server has parsed it, and the parameters of one of its executions as SQL literals. */
export interface LoggedStatement {
  readonly text: string
  /** `undefined`: one of them was cut. */
  readonly parameters: ReadonlyArray<string> | undefined
  /** Whether it was executed in a transaction whose statements are planned once per connection. */
  readonly isPlannedOnce?: boolean
}

const EXECUTED = /^(?:execute [^:]+|statement): ([\s\S]*)$/
/** `$1 = 'text', $2 = NULL`. */
const PARAMETER = /\$\d+ = (NULL|'(?:[^']|'')*')(\.\.\.)?/g

/** The beginning and the end of a transaction whose statements are planned once. */
const PLANNED_ONCE = /set_config\('plan_cache_mode', 'force_generic_plan', true\)/
const TRANSACTION_END = /^(?:COMMIT|ROLLBACK)$/

const parametersOf = (detail: string): ReadonlyArray<string> | undefined => {
  // A cut parameter ends with three dots inside of its quotes.
  if (/\.\.\.'(?:, \$\d+ = |$)/.test(detail)) return undefined
  return [...detail.matchAll(PARAMETER)].map(([, literal = "NULL"]) => literal)
}

interface LogLine {
  readonly message: string
  readonly session_id: string
  readonly detail?: string
  readonly application_name?: string
}

/** Each text of such a program once, with parameters where one of its executions has usable ones. */
export const readStatementLog = (
  folder: string,
  application: RegExp
): ReadonlyMap<string, LoggedStatement> => {
  const found = new Map<string, LoggedStatement>()
  const planning = new Set<string>()
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json")))
    for (const line of readFileSync(join(folder, file), "utf8").split("\n")) {
      if (!line.includes('"message":"execute ') && !line.includes('"message":"statement: ')) continue
      const { application_name = "", detail = "", message, session_id } = JSON.parse(line) as LogLine
      const text = EXECUTED.exec(message)?.[1]
      if (text === undefined || !application.test(application_name)) continue
      if (PLANNED_ONCE.test(text)) planning.add(session_id)
      else if (TRANSACTION_END.test(text)) planning.delete(session_id)
      const earlier = found.get(text)
      found.set(text, {
        text,
        parameters: earlier?.parameters ?? parametersOf(detail),
        isPlannedOnce: earlier?.isPlannedOnce === true || planning.has(session_id)
      })
    }
  return found
}

interface PlanNode {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly "Index Name"?: string
  readonly "Index Cond"?: string
  readonly Filter?: string
  readonly "Plan Rows"?: number
  readonly Plans?: ReadonlyArray<PlanNode>
}

interface Explained {
  readonly "QUERY PLAN": ReadonlyArray<{ readonly Plan: PlanNode }>
}

/** `bounded`: tables that stay small, and indexes of few rows. */
const scansOf = (node: PlanNode, bounded: ReadonlySet<string>, isLimited = false): ReadonlyArray<string> => {
  const type = node["Node Type"]
  const relation = node["Relation Name"] ?? ""
  const index = node["Index Name"] ?? ""
  // A few rows without a condition are read from the beginning.
  const isFew = isLimited && node.Filter === undefined
  const isScan = type === "Seq Scan" && !isFew && !relation.startsWith("pg_") && !bounded.has(relation)
  const isIndexScan =
    type.startsWith("Index") && node["Index Cond"] === undefined && !isLimited && !bounded.has(index)
  const below = (node.Plans ?? []).flatMap((child) => scansOf(child, bounded, isLimited || type === "Limit"))
  return isScan || isIndexScan ? [`${type} ${relation} ${index}`.trim(), ...below] : below
}

const isLimitedBelow = (node: PlanNode): boolean =>
  node["Node Type"] === "Limit" || (node.Plans ?? []).some(isLimitedBelow)

/**
 * Sorts of more rows than the limit above them lets through: the cost of a page grows with the list. A sort that joins pages, each with its own
 * limit, is none of these.
 */
const sortsOf = (node: PlanNode, limit = Infinity): ReadonlyArray<string> => {
  const type = node["Node Type"]
  const below = node.Plans ?? []
  const sorted = below[0]?.["Plan Rows"] ?? 0
  const isLarge = type === "Sort" && sorted > Math.max(limit, FEW_ROWS) && !below.some(isLimitedBelow)
  const limitBelow = type === "Limit" ? Math.min(limit, node["Plan Rows"] ?? Infinity) : limit
  const found = below.flatMap((child) => sortsOf(child, limitBelow))
  return isLarge ? [`Sort of ${sorted} rows for ${limit}`, ...found] : found
}

/** A sort of fewer rows costs next to nothing. */
const FEW_ROWS = 100

const findingsIn = (plan: PlanNode, bounded: ReadonlySet<string>): ReadonlyArray<string> => [
  ...scansOf(plan, bounded),
  ...sortsOf(plan)
]

/** Indexes of a part of their table. */
export const partialIndexes = async (client: Client): Promise<ReadonlyArray<string>> => {
  const { rows } = await client.query<{ readonly name: string }>(
    "SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indpred IS NOT NULL"
  )
  return rows.map(({ name }) => name.replace(/^.*\./, ""))
}

/** The protocol that refuses a text of several statements, of which the server would execute the others. A text with parameters has used it before. */
const SINGLE = { queryMode: "extended" } as const

/** The scans and large sorts in the plan for the logged parameters. Executes nothing. */
export const tableScans = async (
  client: Client,
  { parameters, text }: LoggedStatement,
  bounded: ReadonlySet<string>
): Promise<ReadonlyArray<string>> => {
  if (parameters === undefined || parameters.length === 0) {
    const generic = await client.query<Explained>({
      text: `EXPLAIN (FORMAT JSON${parameters === undefined ? ", GENERIC_PLAN" : ""}) ${text}`,
      ...(parameters === undefined ? {} : SINGLE)
    })
    return findingsIn(planIn(generic.rows), bounded)
  }
  await client.query(`PREPARE planned AS ${text}`)
  try {
    const planned = await client.query<Explained>(
      `EXPLAIN (FORMAT JSON) EXECUTE planned(${parameters.join(", ")})`
    )
    return findingsIn(planIn(planned.rows), bounded)
  } finally {
    await client.query("DEALLOCATE planned")
  }
}

const planIn = ([row]: ReadonlyArray<Explained>): PlanNode => {
  const plan = row?.["QUERY PLAN"][0]
  if (plan === undefined) throw new Error("no plan")
  return plan.Plan
}
