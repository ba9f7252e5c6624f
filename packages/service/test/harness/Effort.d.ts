/** How much the tests try: 1 in `npm test`, ten times that in `npm run test:soak`. */
export declare const effort: number;
/** For `it.prop`: so many ways, times the effort. */
export declare const tries: (runs: number) => {
    arbitrary: {
        runs: number;
    };
};
