/**
 * Sample workspace for a first run. An existing folder is never changed.
 */
import { makeFolder } from "@corral/service/MakeFolder"
import { execFileSync } from "node:child_process"
import { existsSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

export const SAMPLE_ID = "sample"

const files: Readonly<Record<string, string>> = {
  "README.md": `# Sample workspace

A folder for a first run. Agents that you start here see only these files.

- \`notes/\` describes the opening hours of a small shop.
- \`hours.js\` tells whether the shop is open.
`,
  "notes/hours.md": `# Opening hours

- Weekdays from 9 to 18, Saturdays from 10 to 14.
- Closed on Sundays.
- On the last Saturday of a month the shop stays open until 17. \`hours.js\` does not know this yet.
`,
  "notes/questions.md": `# Open questions

- Who decides about public holidays?
- Should the answer say when the shop opens next?
`,
  "hours.js": `// Whether the shop is open at that moment.
export const isOpen = (date) => {
  const day = date.getDay()
  const hour = date.getHours()
  if (day === 0) return false
  return day === 6 ? hour >= 10 && hour < 14 : hour >= 9 && hour < 18
}
`
}

/** Creates the folder if it is missing, as a git repository if git is installed. Returns its path. */
export const ensureSample = (home: string): string => {
  const folder = join(home, SAMPLE_ID)
  if (existsSync(folder)) return folder
  for (const [name, text] of Object.entries(files)) {
    const file = join(folder, name)
    makeFolder(dirname(file))
    writeFileSync(file, text)
  }
  try {
    execFileSync("git", ["init", "--quiet"], { cwd: folder, stdio: "ignore" })
  } catch {
    // The sample also works without git.
  }
  return folder
}
