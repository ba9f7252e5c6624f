import { conformanceProperties } from "./ConformanceProperties.ts"

// Any three neighbouring bytes are of one kind nearly everywhere; `Conformance.soak.test.ts` cuts at each.
conformanceProperties({ runs: 8, step: 3 })
