import { conformanceProperties } from "./ConformanceProperties.ts"

conformanceProperties({ runs: 200, step: 1 })
