throw new Error('nothing to test with');
