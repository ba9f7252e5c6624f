/**
 * A process with the services of an Edge that accepts everything of a set, for tests that kill it. Prints a line before each of its writes.
 *
 * `node AcceptAll.ts FOLDER RUN`
 */
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { writeSync } from "node:fs"
import { Changes } from "../../src/change/Changes.ts"
import { changeServices, decider, everything, placeAt } from "./ChangePlace.ts"
import { steppedOperations } from "./Decisions.ts"

const [folder = "", id = ""] = process.argv.slice(2)
const place = placeAt(folder, id as RunId)
const operations = steppedOperations((name) => void writeSync(1, `${name}\n`))

await Effect.runPromise(
  Effect.gen(function* () {
    const changes = yield* Changes
    const set = yield* changes.summary(place.run.id)
    yield* changes.accept(place.run.id, { parts: everything(set) }, decider)
  }).pipe(Effect.provide(changeServices(place, operations)))
)
