/** How much the tests try: 1 in `npm test`, ten times that in `npm run test:soak`. */
export const effort = Number(process.env["CORRAL_TEST_EFFORT"] ?? 1)

/** For `it.prop`: the number of cases, times the effort. */
export const tries = (runs: number) => ({ arbitrary: { runs: runs * effort } })
