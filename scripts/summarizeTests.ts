/** `node scripts/summarizeTests.ts RESULTS...`: prints one summary of several test runs. A missing or empty file is a run without results. */
import { existsSync, readFileSync } from "node:fs"
import { summaryLines, type TestResults } from "./TestSummary.ts"

const read = (file: string): TestResults | undefined => {
  const text = existsSync(file) ? readFileSync(file, "utf8") : ""
  return text === "" ? undefined : JSON.parse(text)
}

console.log(summaryLines(process.argv.slice(2).map(read), process.cwd()).join("\n"))
