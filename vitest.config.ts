import { defineConfig } from "vitest/config"
import {
  bothRuns,
  confinedProject,
  outside,
  projectOf,
  sharedProject,
  spawningProject
} from "./vitest.shared.ts"

/** What looks at the process that it is in, or at everything that runs here: a fork for each file. */
const apart = ["packages/edge/test/process/**/*.test.ts", "packages/adapters/test/Conformance.test.ts"]

const confined = ["packages/edge/test/confinement/**/*.test.ts"]

const edge = ["packages/edge/test/**/*.test.ts"]

export default defineConfig({
  test: {
    ...bothRuns,
    projects: [
      sharedProject({
        include: ["packages/*/test/**/*.test.ts", "scripts/**/*.test.ts", "examples/**/*.test.ts"],
        exclude: [outside, ...apart, ...edge]
      }),
      spawningProject({ include: edge, exclude: [outside, ...apart, ...confined] }),
      projectOf("apart", { include: apart }),
      confinedProject(confined)
    ]
  }
})
