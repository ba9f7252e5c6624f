/**
 * Log of every statement that a PostgreSQL server executes, with its parameters: what no client can leave out.
 *
 * Does not: keep long parameters. Those are cut, and the statement has no usable parameters then.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

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
}

const EXECUTED = /^(?:execute [^:]+|statement): ([\s\S]*)$/
/** `$1 = 'text', $2 = NULL`. */
const PARAMETER = /\$\d+ = (NULL|'(?:[^']|'')*')(\.\.\.)?/g

const parametersOf = (detail: string): ReadonlyArray<string> | undefined => {
  // A cut parameter ends with three dots inside of its quotes.
  if (/\.\.\.'(?:, \$\d+ = |$)/.test(detail)) return undefined
  return [...detail.matchAll(PARAMETER)].map(([, literal = "NULL"]) => literal)
}

/** Each text once, with parameters where one of its executions has usable ones. */
export const readStatementLog = (folder: string): ReadonlyMap<string, LoggedStatement> => {
  const found = new Map<string, LoggedStatement>()
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json")))
    for (const line of readFileSync(join(folder, file), "utf8").split("\n")) {
      if (!line.includes('"message":"execute ') && !line.includes('"message":"statement: ')) continue
      const { detail = "", message } = JSON.parse(line) as {
        readonly message: string
        readonly detail?: string
      }
      const text = EXECUTED.exec(message)?.[1]
      if (text === undefined || found.get(text)?.parameters !== undefined) continue
      found.set(text, { text, parameters: parametersOf(detail) })
    }
  return found
}
