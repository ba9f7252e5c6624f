/** `docs/fault-matrix.md`, from the results of a whole run. Pure. */
import { type FaultCell, faultCells, titleOf } from "./FaultCell.ts"
import { faultPhases } from "./FaultPhases.ts"
import { faultNames, surfaceNames } from "./FaultProduct.ts"
import { type PublishedFailure, publishedFailures } from "./PublishedFailures.ts"

/** Result of each cell and each check, by its title. */
export type FaultResults = ReadonlyMap<string, "passed" | "failed">

export const titleOfCheck = ({ failure, id }: PublishedFailure): string => `${id}: ${failure}`

export const publishedChecks = publishedFailures.filter(({ check }) => check !== undefined)

/** Titles of everything that a whole run has a result for. */
export const resultTitles: ReadonlyArray<string> = [
  ...faultCells.map(titleOf),
  ...publishedChecks.map(titleOfCheck)
]

const row = (texts: ReadonlyArray<string>): string => `| ${texts.join(" | ")} |`

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [row(head), `|${"---|".repeat(head.length)}`, ...rows.map(row)].join("\n")

const resultOf = (results: FaultResults, title: string): string => results.get(title) ?? "not run"

const cellsOf = (results: FaultResults): string =>
  table(
    ["Fault", "Phase", ...surfaceNames],
    faultNames.flatMap((fault) =>
      faultPhases.map((phase) => [
        fault,
        phase.name,
        ...surfaceNames.map((surface) =>
          resultOf(results, titleOf({ fault, phase, surface } satisfies FaultCell))
        )
      ])
    )
  )

const failuresOf = (results: FaultResults): string =>
  table(
    ["", "Failure", "Here", "Shown by", "Result"],
    publishedFailures.map((published) => {
      const { behaviour, cells, check, failure, id } = published
      const shown = cells === undefined ? "a separate check" : `the cells: ${cells}`
      return [
        id,
        failure,
        behaviour,
        shown,
        check === undefined ? "as the cells" : resultOf(results, titleOfCheck(published))
      ]
    })
  )

export const faultMatrixPage = (results: FaultResults): string => `# Faults

Each fault in each phase of a run, seen from each surface, on real services: a Hub with its own PostgreSQL, an Edge, a Gateway with a simulated Feishu, and the
\`corral\` command. \`npm run test:faults\` runs all cells and writes this page.

A cell passes if, after the fault:

- the surface shows the run in progress and its end, with each answer, each piece of output and each effect of the agent once
- the surface can act in the phase: read, send, decide, or answer
- the surface then sends a further message, allows its request and cancels its run
- the Hub and the Edge have the same events of each run, without a gap or a repetition, and each message was delivered to one run

| Fault | What happens |
|---|---|
| Edge killed | SIGKILL of the Edge, then its next start. Its runs continue ([restarts](restarts.md)) |
| Hub killed | SIGKILL of the Hub, then its next start |
| link cut | the Edge loses its connection to the Hub, and cannot connect again at first |
| Edge and Hub killed | SIGKILL of both, then the next starts |
| database restarted | PostgreSQL of the Hub and the Gateway ends with all connections, then starts |

| Surface | What is used |
|---|---|
| API | the client library with a token: requests, and the events of the session over a WebSocket |
| console | requests with the browser's cookie, the change feed, and the event stream of the run. Nothing is polled |
| CLI | \`corral say --wait\` and \`corral attach\` through the fault, and commands for decisions and cancels |
| chat | messages, cards and clicks in a direct chat. It shows finished answers, not the stream |

## Cells

${cellsOf(results)}

## Failures that another product documents

Omnigent publishes [eight failures of the product itself](https://github.com/omnigent-ai/omnigent/blob/main/docs/network-resilience.md). The same situations here:

${failuresOf(results)}

## Other products

The cells use a product through one interface, \`FaultProduct\` in \`packages/cli/test/faults\`: what its agent does, what a surface shows, and how to cause each
fault. \`CorralUnderFaults\` is its implementation for Corral.
`
