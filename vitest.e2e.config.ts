import { defineConfig } from "vitest/config"
import { bothRuns, confinedProject, outside, sharedProject } from "./vitest.shared.ts"

const confined = ["packages/edge/test/e2e/Confinement.test.ts"]

// Whole programs from the outside. `npm test` has one test of each surface, in `test/smoke`.
export default defineConfig({
  test: {
    ...bothRuns,
    // Each of them is several processes, often with a browser: with more, they wait for each other.
    maxWorkers: 3,
    projects: [sharedProject({ include: [outside], exclude: confined }), confinedProject(confined)]
  }
})
