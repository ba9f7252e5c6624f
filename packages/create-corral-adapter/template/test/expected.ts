/** `npm run expected`: writes `events.json` of each recording. Read the difference: it must be what the program meant. */
import { writeExpectedOutputs } from "@corral/conformance/Recordings"
import adapter from "../src/index.ts"

for (const name of writeExpectedOutputs(adapter, new URL("../recordings", import.meta.url)))
  console.log(`changed: ${name}`)
